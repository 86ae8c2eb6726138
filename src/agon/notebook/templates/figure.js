// Back closes an enlarged figure, and Forward enlarges it again. An enlarged figure has its own entry in the history.
(() => {
  let leaving = false;  // a figure was closed, and the history has not gone back yet
  const enlarged = () => document.querySelector(".larger:popover-open");
  const enter = (figure) => history.pushState({figure: figure.id}, "");

  function follow() {
    const open = enlarged(), wanted = document.getElementById(history.state?.figure);
    if (leaving && open) enter(open);
    else if (open !== wanted) {
      open?.hidePopover();
      wanted?.showPopover();
    }
    leaving = false;
  }

  addEventListener("toggle", ({target, newState}) => {
    const here = history.state?.figure === target.id;
    if (!target.matches(".larger") || leaving) return;
    if (newState === "open" && !here) enter(target);
    else if (newState === "closed" && here) {
      leaving = true;
      history.back();
    }
  }, true);
  addEventListener("popstate", follow);
  follow();
})();

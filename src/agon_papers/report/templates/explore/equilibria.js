/** Nash equilibria of one round of a game of two by support enumeration (von Stengel 2002): rows[i][j] and columns[i][j] are the
 * points of the player of rows and of columns. Gives profiles, [mix of rows, mix of columns] each, and whether the game is degenerate:
 * some mix has more best replies than actions. If it is, there may be infinitely many equilibria, and some are not listed. */
function equilibria(rows, columns) {
  const TINY = 1e-9;
  const range = (size) => Array.from({length: size}, (_, place) => place);
  const supports = (size) => range(2 ** size - 1).map((set) => range(size).filter((place) => ((set + 1) >> place) & 1));
  const turned = range(columns[0].length).map((j) => columns.map((row) => row[j]));  // [own action of columns][action of rows]
  const scale = Math.max(1, ...[...rows, ...columns].flat().map(Math.abs));

  /** The shares of the other's actions `theirs` that make `own` worth the same, or null; all of them above 0. */
  function levelling(points, own, theirs) {
    const lines = own.map((i) => [...theirs.map((j) => points[i][j]), -1, 0]);
    lines.push([...theirs.map(() => 1), 0, 1]);
    for (const p of range(lines.length)) {
      const best = range(lines.length).slice(p).reduce((a, b) => (Math.abs(lines[b][p]) > Math.abs(lines[a][p]) ? b : a));
      if (Math.abs(lines[best][p]) < TINY * scale) return null;
      [lines[p], lines[best]] = [lines[best], lines[p]];
      for (const r of range(lines.length)) {
        if (r === p) continue;
        const factor = lines[r][p] / lines[p][p];
        lines[r] = lines[r].map((value, place) => value - factor * lines[p][place]);
      }
    }
    const shares = theirs.map((_, place) => lines[place][lines.length] / lines[place][place]);
    return shares.every((share) => share > TINY) ? shares : null;
  }

  /** The mixes over `theirs` to which all of `own` are best replies: the whole mix, and how many best replies it has. */
  function answered(points, own, theirs) {
    const shares = levelling(points, own, theirs);
    if (!shares) return null;
    const mix = points[0].map((_, j) => (theirs.includes(j) ? shares[theirs.indexOf(j)] : 0));
    const worth = points.map((row) => row.reduce((sum, value, j) => sum + value * mix[j], 0));
    const most = Math.max(...worth);
    if (own.some((i) => worth[i] < most - TINY * scale)) return null;
    return {mix, replies: worth.filter((value) => value > most - TINY * scale).length};
  }

  const profiles = [];
  let degenerate = false;
  for (const own of supports(rows.length)) {
    for (const theirs of supports(turned.length).filter((each) => each.length === own.length)) {
      const [second, first] = [answered(rows, own, theirs), answered(turned, theirs, own)];
      degenerate ||= [first, second].some((each) => each && each.replies > own.length);
      if (first && second) profiles.push([first.mix, second.mix]);
    }
  }
  profiles.sort((a, b) => a[0].filter(Boolean).length - b[0].filter(Boolean).length);
  return {profiles, degenerate};
}

// How the site's search ranks what it finds: guides and findings come before modules, unless a module has the very name.
var Scorer = {
  score: ([page, , , , score]) => score + (/^(README|docs\/(?!reference|all-changes)|reports\/\w+_findings)/.test(page) ? 12 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,   // from here on as Sphinx has it
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};

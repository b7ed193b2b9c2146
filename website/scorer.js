// What a search result is worth. The figures are Sphinx's own; the reader's framework comes first.
var Scorer = {
  score: ([docname, , , , score]) => {
    let framework = null; // where the browser refuses to remember
    try {
      framework = localStorage.getItem("d2l-framework");
    } catch {}
    return framework && docname.startsWith(framework + "/") ? score + 4 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

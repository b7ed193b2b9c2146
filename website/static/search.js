"use strict";
// Shows what Sphinx's index finds: each page once, and where in it the words stand. All of it comes
// from scripts, so it works from files, too; and it is said in the page's language.
(() => {
  const SECTIONS = 3; // of a page that are shown
  const AROUND = 90; // characters of an excerpt before and after a word

  const words = () => document.getElementById("search-words").dataset;
  const add = (parent, tag, text = "", name = "") => {
    const made = parent.appendChild(document.createElement(tag));
    made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  // How the words may be written in a text: as they were typed, or another form of the same word.
  const forms = (query, texts) => {
    const whole = Object.values(texts).join("\n");
    const stemmer = new Stemmer();
    const found = [];
    for (const typed of query.trim().split(/\s+/)) {
      let word = typed;
      if (!Find.places(whole, [word]).length) word = stemmer.stemWord(typed.toLowerCase());
      while (word.length > 3 && !Find.places(whole, [word]).length) word = word.slice(0, -1);
      if (stopwords.has(typed.toLowerCase()) || !Find.places(whole, [word]).length) continue;
      found.push(word);
    }
    return found;
  };

  const excerpt = (parent, text, [from, to], found) => {
    const start = Math.max(from - AROUND, 0);
    const shown = text.slice(start, to + AROUND);
    const line = (start ? "… " : "") + shown + (to + AROUND < text.length ? " …" : "");
    Find.mark(add(parent, "p", line, "context"), found);
  };

  const address = (page, found, section) =>
    `${page}.html${found.length ? "?mark=" + encodeURIComponent(found.join(" ")) : ""}` +
    (section ? "#" + section : "");

  const show = (list, [page, title, anchor, about], query) => {
    const texts = window.SEARCH_TEXTS[page] || {};
    const found = forms(query, texts);
    const hits = Object.entries(texts)
      .map(([section, text]) => [section, text, Find.places(text, found)])
      .filter(([, , places]) => places.length);
    // The section that holds most of what was asked for comes first.
    const kinds = (text) => found.filter((word) => Find.places(text, [word]).length).length;
    hits.sort((a, b) => kinds(b[1]) - kinds(a[1]));
    const item = add(list, "li");
    const first = anchor.slice(1) || (hits.length ? hits[0][0] : "");
    add(item, "a", title).href = address(page, found, first);
    if (about) add(item, "span", ` (${about})`);
    for (const [section, text, places] of hits.slice(0, SECTIONS)) {
      const hit = add(item, "a", "", "hit");
      hit.href = address(page, found, section);
      excerpt(hit, text, places[0], found);
    }
    const rest = hits.length - SECTIONS;
    if (rest > 0) add(item, "p", words().more.replace("{count}", rest), "more");
  };

  Search.performSearch = (query) => {
    const out = document.getElementById("search-results");
    Search.status = add(out, "p", "", "search-summary");
    Search.status.setAttribute("role", "status");
    Search.output = add(out, "ul", "", "search");
    if (Search.hasIndex()) Search.query(query);
    else Search.deferQuery(query);
  };

  Search.query = (query) => {
    const parsed = Search._parseQuery(query.normalize("NFKC"));
    try {
      localStorage.removeItem("sphinx_highlight_terms"); // ours go with the address
    } catch {}
    const pages = new Map();
    for (const result of Search._performSearch(...parsed).reverse())
      if (!pages.has(result[0])) pages.set(result[0], result);
    for (const [page, title, anchor, about] of pages.values())
      show(Search.output, [page, title, anchor, about], query);
    const say = words();
    const sentence = pages.size === 0 ? say.none : pages.size === 1 ? say.one : say.many;
    Search.status.textContent = sentence
      .replace("{count}", pages.size)
      .replace("{query}", query.trim());
  };
})();

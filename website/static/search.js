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

  // How a word may be written in a text: as it was typed, or as another form of the same word.
  // Signs around it may be missing there, but then a single letter is no answer: C is not "c++".
  const SIGNS = /^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu;
  const isLetter = (word) => /^[\x00-\x7f]?$/.test(word);
  const formsOf = (typed, whole) => {
    const stands = (word) => Find.places(whole, [word]).length > 0;
    const bare = typed.replace(SIGNS, "");
    if (stopwords.has(bare.toLowerCase())) return [];
    if (stands(typed)) return [typed];
    if (isLetter(bare)) return [];
    let word = bare;
    if (!stands(word)) word = new Stemmer().stemWord(bare.toLowerCase());
    while (word.length > 3 && !stands(word)) word = word.slice(0, -1);
    if (stands(word)) return [word];
    return splitQuery(bare).filter((part) => !isLetter(part) && stands(part));
  };
  const forms = (query, texts) => {
    const whole = Object.values(texts).join("\n");
    const typed = query.split(/[\s"“”「」『』]+/).filter(Boolean);
    return [...new Set(typed.flatMap((word) => formsOf(word, whole)))];
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

  const textsOf = (page) => window.SEARCH_TEXTS[page] || {};

  const show = (list, [page, title, anchor, about], found) => {
    const hits = Object.entries(textsOf(page))
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
    const asked = query.normalize("NFKC");
    const parsed = Search._parseQuery(asked);
    try {
      localStorage.removeItem("sphinx_highlight_terms"); // ours go with the address
    } catch {}
    const pages = new Map();
    for (const result of Search._performSearch(...parsed).reverse()) {
      const found = pages.has(result[0]) ? [] : forms(asked, textsOf(result[0]));
      if (found.length) pages.set(result[0], [result, found]);
    }
    for (const [result, found] of pages.values()) show(Search.output, result, found);
    const say = words();
    const sentence = pages.size === 0 ? say.none : pages.size === 1 ? say.one : say.many;
    Search.status.textContent = sentence
      .replace("{count}", pages.size)
      .replace("{query}", query.trim());
  };
})();

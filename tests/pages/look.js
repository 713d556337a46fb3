// What is wrong with how the page looks, as a list of texts: what sticks out, what is too small, pale or hidden, and what
// the keyboard cannot reach. The screen is as high as the page, so that every point of it can be looked up.
(() => {
  const SMALLEST = 9.5, CONTRAST = 4.5;
  const faults = new Set();
  const name = (e) => `<${e.tagName.toLowerCase()}${e.id ? " id=" + e.id : ""}${e.getAttribute("class") ? " class=" + e.getAttribute("class") : ""}>`;
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  // Any colour that CSS can name, as [r, g, b, a].
  const parse = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "#000";
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
    const alpha = /rgba\(.*?([\d.]+)\)$/.exec(text) || /\/ ([\d.]+)\)$/.exec(text);
    const a = text === "transparent" || text === "none" ? 0 : alpha ? Number(alpha[1]) : 1;
    if (a > 0 && a < 1) {
      const numbers = text.match(/[\d.]+/g).map(Number);
      return [numbers[0], numbers[1], numbers[2], a];
    }
    return [r, g, b, a];
  };
  const over = (top, below, opacity = 1) => {
    const a = top[3] * opacity;
    return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)).concat(1);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const probe = document.createElement("div");
  probe.style.background = "Canvas";
  document.body.append(probe);
  const paper = parse(getComputedStyle(probe).backgroundColor);
  probe.remove();
  const opacity = (e) => (e instanceof Element ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1);
  const isDrawn = (e) => e.namespaceURI === "http://www.w3.org/2000/svg" && e.tagName !== "svg";
  // The colour below a text: what lies at its middle, from the back to the front.
  const below = (x, y, owner) => {
    const stack = document.elementsFromPoint(x, y).reverse();
    return stack.reduce((colour, e) => {
      if (e === owner && isDrawn(e)) return colour;
      const style = getComputedStyle(e);
      if (isDrawn(e) && e.tagName === "text") return colour;
      return over(parse(isDrawn(e) ? style.fill : style.backgroundColor), colour, opacity(e));
    }, paper);
  };
  const scroller = (e) => e && e !== document.documentElement && e !== document.body &&
    (["auto", "scroll"].includes(getComputedStyle(e).overflowX) ? e : scroller(e.parentElement));

  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) faults.add(`the page is ${wide} px wider than the screen`);

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const owner = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    const style = getComputedStyle(owner);
    if (!text || style.visibility === "hidden" || ["STYLE", "SCRIPT", "title"].includes(owner.tagName)) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const box = isDrawn(owner) ? owner.getBoundingClientRect() : range.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue; // for screen readers alone
    const about = `${name(owner)} "${text.slice(0, 30)}"`;
    const svg = owner.closest("svg");
    const scale = svg && svg.viewBox.baseVal.width ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const size = parseFloat(style.fontSize) * scale;
    if (size < SMALLEST) faults.add(`${about}: letters of ${size.toFixed(1)} px`);
    if (svg && isDrawn(owner)) {
      const frame = svg.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        faults.add(`${about}: outside of its picture`);
      for (const other of svg.querySelectorAll("text")) {
        const area = other.getBoundingClientRect();
        const apart = other === owner || area.left >= box.right || area.right <= box.left ||
          area.top >= box.bottom - 2 || area.bottom <= box.top + 2;
        if (!apart) faults.add(`${about}: on top of "${other.textContent.slice(0, 30)}"`);
      }
    }
    const area = scroller(owner);
    const edge = area ? area.getBoundingClientRect() : { left: 0, right: innerWidth };
    if (!area && (box.right > innerWidth + 1 || box.left < -1)) faults.add(`${about}: sticks out of the screen`);
    const rects = isDrawn(owner) ? [box] : [...range.getClientRects()].filter((r) => r.width > 1);
    const first = rects[0] || box;
    const x = first.left + Math.min(first.width / 2, 20), y = first.top + first.height / 2;
    if (x < edge.left || x > edge.right || x > innerWidth || y > innerHeight) continue; // scrolled away
    const back = below(x, y, owner);
    const ink = over(parse(isDrawn(owner) ? style.fill : style.color), back, opacity(owner));
    const ratio = contrast(ink, back);
    if (ratio < CONTRAST) faults.add(`${about}: contrast ${ratio.toFixed(2)}`);
  }
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    const reachable = e.tabIndex >= 0 || e.querySelector("a[href], button, input, [tabindex]");
    if (["auto", "scroll"].includes(style.overflowX) && e.scrollWidth > e.clientWidth + 1 && !reachable)
      faults.add(`${name(e)}: the keyboard cannot scroll it`);
    if (e.tagName === "svg" && e.getAttribute("role") === "img" && !e.querySelector(":scope > title") && !e.getAttribute("aria-label"))
      faults.add(`${name(e)}: a picture without a name`);
    if (["auto", "scroll"].includes(style.overflowX) && e.hasAttribute("tabindex") && !e.getAttribute("aria-label"))
      faults.add(`${name(e)}: scrolls, and has no name`);
  }
  return [...faults];
})()

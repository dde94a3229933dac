/**
 * Lets xterm.js have its colours under a strict content security policy. It writes rules into <style> elements and
 * colours into attributes called "style", and the policy of these pages refuses both, as it shall. The same by script
 * it allows: rules in constructed style sheets, colours in the style object. While a terminal is shown, elements that
 * are made do that instead; what xterm.js makes cannot be told from the rest, and nothing else here uses either.
 * https://github.com/xtermjs/xterm.js/issues/4445
 */

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

/** From now on; the answer ends it, and takes away the rules. */
export function strictStyles(): () => void {
  const sheets = new Set<CSSStyleSheet>();
  const make = document.createElement.bind(document);
  const createElement = (name: string, options?: ElementCreationOptions): HTMLElement => {
    if (name !== "style") {
      const element = make(name, options);
      element.setAttribute = setAttribute;
      return element;
    }
    const sheet = new CSSStyleSheet();
    sheets.add(sheet);
    document.adoptedStyleSheets.push(sheet);
    // Even an empty <style> would be refused; this one shows nothing either.
    return Object.defineProperty(make("template"), "textContent", { set: (rules: string) => sheet.replaceSync(rules) });
  };
  document.createElement = createElement as typeof document.createElement;
  return () => {
    delete (document as { createElement?: unknown }).createElement; // the browser's own is there again
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.has(sheet));
  };
}

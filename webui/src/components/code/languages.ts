/** Of which language a file is, for its colours. Pure. */

const endings: Readonly<Record<string, string>> = {
  py: "python", pyi: "python", yaml: "yaml", yml: "yaml", json: "json", ipynb: "json", sh: "bash", bash: "bash",
  c: "cpp", cc: "cpp", cpp: "cpp", cu: "cpp", cuh: "cpp", h: "cpp", hpp: "cpp", toml: "ini", ini: "ini", cfg: "ini",
};

/** The language of a file by its name; undefined: none that has colours here. */
export const languageOf = (path: string): string | undefined => endings[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""];

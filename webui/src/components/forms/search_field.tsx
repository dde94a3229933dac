import { useEffect, useRef, useState } from "react";

interface SearchFieldProps {
  /** What is searched for now; a change from elsewhere (a link, "back") replaces what is typed. */
  readonly text: string;
  readonly onSearch: (text: string) => void;
  readonly placeholder: string;
  readonly label: string;
}

/** A field that searches when the user has stopped typing for a moment. */
export function SearchField({ text, onSearch, placeholder, label }: SearchFieldProps) {
  const [typed, setTyped] = useState(text);
  const search = useRef(onSearch);
  search.current = onSearch;
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => search.current(typed), 200);
    return () => clearTimeout(timer);
  }, [typed, text]);
  return (
    <input
      type="search"
      value={typed}
      placeholder={placeholder}
      aria-label={label}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}

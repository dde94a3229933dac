import { type FormEvent, useState } from "react";
import { toApiError } from "../api/loadable";
import type { User } from "../api/types";
import { logIn } from "./session";

export function Login({ onLogin }: { onLogin: (user: User) => void }) {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      onLogin(await logIn(username.trim(), password));
    } catch (cause) {
      setProblem(toApiError(cause).message);
    }
  };
  return (
    <main className="login">
      <h1>Log in</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label>
          User
          <input value={username} autoFocus autoComplete="username" required onChange={(e) => setUsername(e.target.value)} />
        </label>
        <label>
          Password
          <input type="password" value={password} autoComplete="current-password" onChange={(e) => setPassword(e.target.value)} />
        </label>
        <button type="submit">Log in</button>
        {problem !== "" && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
      </form>
    </main>
  );
}

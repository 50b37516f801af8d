import { render } from "preact";
import { App } from "./app.tsx";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/components.css";

const place = document.getElementById("app");
if (place === null) throw new Error("the page has no place for the dashboard");
render(<App />, place);

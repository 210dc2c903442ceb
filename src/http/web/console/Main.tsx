/** Starts the console in the page that loads it. */
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import "uplot/dist/uPlot.min.css"
import "./style/tokens.css"
import "./style/base.css"
import "./style/home.css"
import "./style/runs.css"
import "./style/editor.css"
import { App, applyTheme } from "./App.js"

applyTheme()
const root = document.getElementById("root")
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>
  )

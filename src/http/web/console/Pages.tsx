/** The pages of the console: their addresses, their place in the navigation, and the code that each loads when it is opened. */
import { type ComponentType, lazy } from "react"

export interface PageEntry {
  /** Below `/console`. */
  readonly path: string
  readonly page: ComponentType
  /** Its name and group in the navigation; pages of one record have none. */
  readonly name?: string
  readonly group?: "Work" | "Connect" | "Manage" | "Account"
  /** The permission without which the navigation shows it as closed. */
  readonly needs?: string
}

/** A page whose code is loaded when it is first shown. */
const page = <Name extends string>(load: () => Promise<{ readonly [name in Name]: ComponentType }>, name: Name) =>
  lazy(async () => ({ default: (await load())[name] }))

export const pages: ReadonlyArray<PageEntry> = [
  { path: "/", name: "Home", group: "Work", page: page(() => import("./pages/home/Home.js"), "Home") },
  {
    path: "/runs",
    name: "Runs",
    group: "Work",
    needs: "executions:read",
    page: page(() => import("./pages/runs/Runs.js"), "Runs")
  },
  { path: "/runs/:eid", page: page(() => import("./pages/runs/Run.js"), "Run") }
]

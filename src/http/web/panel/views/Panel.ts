/** What the views share: the session, what is shown, and what they tell the page around the panel. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"
import type { Attempts } from "../connect/Attempts.js"
import type { Parent } from "../frame/Parent.js"
import type { PanelSchemas, PanelSession } from "../session/Session.js"
import type { Shared } from "../Store.js"

/** An account of the customer, as sessions see it. */
export type Account = PanelSchemas["EmbeddedConnection"]

/** What is shown. `account`: one that is connected again. */
export type View =
  | { readonly name: "home" }
  | { readonly name: "connect"; readonly connector: string; readonly account: Account | null }

export interface Panel {
  readonly session: PanelSession
  readonly parent: Parent
  readonly attempts: Attempts
  readonly view: Shared<View>
  /** Said to the person once something was done, as a text of the language. */
  readonly notice: Shared<string | null>
  /** How often the accounts were changed. */
  readonly changes: Shared<number>
}

/** The panel that the views show. */
export const PanelOfViews = createContext<Panel | null>(null)

export const usePanel = (): Panel => {
  const panel = useContext(PanelOfViews)
  if (panel === null) throw new Error("no panel is around this view")
  return panel
}

/** Whether the session may do this, by the names of the permission's group and verb. */
export const mayDo = (
  { permissions }: Pick<PanelSchemas["EmbeddedSession"], "permissions">,
  group: string,
  verb: string
): boolean => permissions[group]?.includes(verb) === true

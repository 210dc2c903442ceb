/** What the views share: the session, what is shown, and what they tell the page around the panel. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"
import type { Actions } from "../actions/Actions.js"
import type { Attempts } from "../connect/Attempts.js"
import type { FormValues } from "../forms/Form.js"
import type { Parent } from "../frame/Parent.js"
import type { PanelSchemas, PanelSession } from "../session/Session.js"
import type { Shared } from "../Store.js"

/** The session as it is shown. */
export type ShownSession = PanelSchemas["EmbeddedSession"]
/** An account of the customer, as sessions see it. */
export type Account = PanelSchemas["EmbeddedConnection"]
/** What the session offers to set up. */
export type ShownIntegration = ShownSession["features"]["integrations"][number]
/** An integration that is set up. */
export type SetUpIntegration = PanelSchemas["EmbeddedInstallation"]

/** What was entered to set up an integration, while an account is connected for it. */
export interface SetUpDraft {
  /** As it was read when the settings were opened; `null`: it was not set up. */
  readonly installed: SetUpIntegration | null
  readonly values: FormValues
  /** The ids of the chosen accounts, by the slugs of connectors. */
  readonly chosen: ReadonlyMap<string, string>
  /** The ids of the accounts that there were; `null`: none was read. */
  readonly known: ReadonlyArray<string> | null
}

/** What is shown of an integration: what it is set up with. `draft`: what was entered before. */
interface SetUp {
  readonly name: "setUp"
  readonly integration: string
  readonly draft: SetUpDraft | null
}

/** What is shown. `account`: one that is connected again; `after`: what is shown then. `action` of home: whose row is looked at. */
export type View =
  | { readonly name: "home"; readonly action?: string }
  | {
      readonly name: "connect"
      readonly connector: string
      readonly account: Account | null
      readonly after?: SetUp
    }
  | SetUp
  | { readonly name: "action"; readonly action: string }

export interface Panel {
  readonly session: PanelSession
  readonly parent: Parent
  readonly attempts: Attempts
  readonly actions: Actions
  readonly view: Shared<View>
  /** Said to the person once something was done, as a text of the language. */
  readonly notice: Shared<string | null>
  /** How often the accounts were changed. */
  readonly changes: Shared<number>
  /** How often integrations were set up, changed and removed. */
  readonly setUps: Shared<number>
  /** How often runs have begun and ended. */
  readonly runs: Shared<number>
}

/** The panel that the views show. */
export const PanelOfViews = createContext<Panel | null>(null)

export const usePanel = (): Panel => {
  const panel = useContext(PanelOfViews)
  if (panel === null) throw new Error("no panel is around this view")
  return panel
}

/** Counts one more change. */
export const countUp = (count: Shared<number>): void => count.set(count.get() + 1)

/** Whether the session may do this, by the names of the permission's group and verb. */
export const mayDo = ({ permissions }: Pick<ShownSession, "permissions">, group: string, verb: string): boolean =>
  permissions[group]?.includes(verb) === true

/** Whether it may connect accounts: their forms stand in their connectors. */
export const mayConnect = (session: Pick<ShownSession, "permissions">): boolean =>
  mayDo(session, "connections", "create") && mayDo(session, "connectors", "read")

/** Whether it may set up integrations, and see which are. */
export const maySetUp = (session: Pick<ShownSession, "permissions">): boolean => mayDo(session, "widgets", "read")

/** Whether it may start what the widget offers. */
export const mayStart = (session: Pick<ShownSession, "permissions">): boolean => mayDo(session, "workflows", "execute")

/** Whether it sees runs. */
export const maySeeRuns = (session: Pick<ShownSession, "features" | "permissions">): boolean =>
  session.features.runs && mayDo(session, "executions", "read")

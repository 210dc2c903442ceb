/** The trigger that a flow's document describes, as the body of a trigger. Contract: workflow record. */
import type { CreateTrigger, TriggerKind, UpdateTrigger } from "../trigger/Trigger.js"
import type { FlowTrigger } from "./Spec.js"

/** What a managed trigger is made of: its type, which never changes, and the settings that a version may change. */
export interface DescribedTrigger {
  readonly type: Exclude<TriggerKind, "manual">
  readonly settings: Pick<UpdateTrigger, "schedule" | "appEvent" | "event">
}

/** The trigger of a document; `undefined`: it has none, or is started by calls only. */
export const describedTrigger = (trigger: FlowTrigger | null | undefined): DescribedTrigger | undefined => {
  switch (trigger?.type) {
    case "webhook":
      return { type: "webhook", settings: {} }
    case "cron": {
      const { cron = "", timezone } = trigger
      const zone = timezone === undefined ? {} : { timezone }
      return { type: "schedule", settings: { schedule: { mode: "cron", cron, ...zone } } }
    }
    case "event": {
      const { event = "", source } = trigger
      return source === undefined
        ? { type: "event", settings: { event: { type: event } } }
        : { type: "app_event", settings: { appEvent: { connector: source, event } } }
    }
    default:
      return undefined
  }
}

/** Where the document has the settings of its trigger. */
const places: ReadonlyMap<string, string> = new Map([
  ["schedule.cron", "trigger.cron"],
  ["schedule.timezone", "trigger.timezone"],
  ["appEvent.connector", "trigger.source"],
  ["appEvent.event", "trigger.event"],
  ["event.type", "trigger.event"]
])

/** The place in the document of what is wrong with its trigger. `path`: in the body of the trigger. */
export const placeInFlow = (path: string): string => places.get(path) ?? "trigger"

/** The body that creates it. Its runs are those of the environment `live`. */
export const managedTriggerBody = (
  { settings, type }: DescribedTrigger,
  workflow: { readonly id: string; readonly name: string },
  environment: string
): CreateTrigger => ({
  type,
  name: workflow.name,
  routes: [{ workflowId: workflow.id, environment }],
  ...settings
})

/** A widget that offers integrations and actions of workflows, as a company publishes it. */
import type { PanelWorld } from "./PanelWorld.js"

let names = 0

/** Creates and publishes a workflow. `body`: of its function. Returns its id. */
export const publishWorkflow = async (panels: PanelWorld, body: string, more: object = {}): Promise<string> => {
  const { id } = await panels.made("POST", "/workflows", {
    name: `offered_${(names += 1)}`,
    form: "code",
    code: `export default async (ctx) => { ${body} }`,
    ...more
  })
  await panels.made("POST", `/workflows/${id}/publish`, {})
  return id
}

/** Creates and publishes a widget. Returns its id. */
export const publishWidget = async (panels: PanelWorld, features: object, more: object = {}): Promise<string> => {
  const { id } = await panels.made("POST", "/widgets", {
    name: `Widget ${(names += 1)}`,
    connectors: ["shop"],
    allowedOrigins: [panels.company().origin],
    features,
    ...more
  })
  await panels.made("POST", `/widgets/${id}/publish`)
  return id
}

/** Settings with each kind of field. Only the service knows whether the tag is right. */
export const sampleSettings = {
  type: "object",
  properties: {
    days: {
      type: "integer",
      title: "Days",
      description: "How far it looks back.",
      minimum: 1,
      maximum: 30,
      default: 7
    },
    tag: { type: "string", title: "Tag", description: "Three capital letters.", pattern: "^[A-Z]{3}$" },
    mode: { enum: ["fast", "careful"], title: "Mode" },
    isDaily: { type: "boolean", title: "Each day" },
    window: {
      type: "object",
      title: "Window",
      description: "When it may run.",
      properties: {
        from: { type: "number", title: "From", minimum: 0, exclusiveMaximum: 24 },
        until: { type: "string", title: "Until", format: "date" }
      },
      required: ["from"]
    }
  },
  required: ["days", "mode"]
} as const

/** An integration of the shop's connector. */
export const sampleIntegration = (workflowIds: ReadonlyArray<string>, more: object = {}) => ({
  slug: "order-sync",
  title: "Order sync",
  description: "Copies the orders of your shop.",
  connectors: ["shop"],
  workflowIds,
  configSchema: sampleSettings,
  ...more
})

/** What asks the shop, whose answer names the account that is used. */
export const askingShop = `
  const { email } = await svc.connector.shop.me({})
  return { message: \`\${ctx.input.days} days of \${email}\` }`

/** An action with a question and a form. */
export const sampleAction = (workflowId: string, more: object = {}) => ({
  id: "copy",
  title: "Copy orders",
  workflowId,
  confirm: "Copy the orders now?",
  inputSchema: {
    type: "object",
    properties: { days: { type: "integer", title: "Days to copy", minimum: 1, maximum: 90 } },
    required: ["days"]
  },
  ...more
})

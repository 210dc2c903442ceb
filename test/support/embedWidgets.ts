/** Widgets whose sessions install integrations and start workflows, in the world of `calls.ts`. */
import { assert } from "@effect/vitest"
import { keyOfCustomers, type OpenedPanel, openPanel } from "./embed.js"
import type { Answer } from "./InProcess.js"
import type { TestKey } from "./keys.js"
import { svc } from "./calls.js"

let names = 0

/** Calls as the organisation does; fails if it is refused. Returns what the answer shows of a record. */
// oxlint-disable-next-line typescript/no-explicit-any -- Tests read what they made.
export const madeByOwner = async (method: string, target: string, body?: object): Promise<any> => {
  const more = body === undefined ? {} : { body }
  const answer = await svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...more })
  assert.isBelow(answer.status, 300, `${method} ${target}: ${answer.text}`)
  return answer.body?.data
}

/** A new customer, by its id. */
export const newCustomer = async (): Promise<string> =>
  (await madeByOwner("POST", "/customers", { name: `Customer ${(names += 1)}` })).id

/** Publishes a widget with these features, and returns its id. */
export const publishedWidget = async (features: object, more: object = {}): Promise<string> => {
  const { id } = await madeByOwner("POST", "/widgets", { name: `widget ${(names += 1)}`, features, ...more })
  await madeByOwner("POST", `/widgets/${id}/publish`)
  return id
}

/** Publishes the widget again with other features. */
export const republish = async (id: string, features: object): Promise<void> => {
  await madeByOwner("PUT", `/widgets/${id}`, { features })
  await madeByOwner("POST", `/widgets/${id}/publish`)
}

/** Opens a session of the widget for the customer. */
export const sessionOf = async (
  widgetId: string,
  customer: string,
  body: object = {},
  made?: TestKey
): Promise<OpenedPanel> =>
  openPanel(svc, customer, { widgetId, ...body }, made ?? (await keyOfCustomers(svc, [customer])))

/** Starts a workflow as the page of a session does. */
export const startIn = (
  { ask }: Pick<OpenedPanel, "ask">,
  workflow: string,
  body: object = {},
  headers: Answer["headers"] = {}
): Promise<Answer> => ask("POST", `/workflows/${workflow}/run`, { body, headers })

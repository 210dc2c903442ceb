/** A service whose runs tell and ask people, with a receiver and a mailbox for what they are told. */
import { assert } from "@effect/vitest"
import { eventually } from "./eventually.js"
import { type Running, start } from "./InProcess.js"
import { type Receiver, startReceiver } from "./receiver.js"
import { type SmtpServer, startSmtpServer } from "./smtpServer.js"

export let svc: Running
export let receiver: Receiver
export let mailbox: SmtpServer
let flows = 0
/** `more`: settings besides those of its receiver and mailbox. */
export const startPeople = async (more: { readonly [name: string]: string } = {}) => {
  receiver = await startReceiver()
  mailbox = await startSmtpServer(["svc", "password"])
  svc = await start({
    SVC_EGRESS_ALLOW: "127.0.0.1/32",
    SVC_SMTP_URL: `smtp://svc:password@127.0.0.1:${mailbox.port}?from=svc@example.com&security=none`,
    ...more
  })
}
export const stopPeople = async () => {
  await svc.stop()
  await Promise.all([receiver.close(), mailbox.close()])
}

export const ask = async (method: string, target: string, body?: object, key = svc.first.key) => {
  const answer = await svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, `${method} ${target}: ${answer.text}`)
  return answer
}
/** Makes addresses of an organisation confirmed, as their owners would. */
export const confirm = (organisation: string, ...addresses: ReadonlyArray<string>) =>
  svc.sql(`INSERT INTO mail_addresses (org, address, confirmed_at)
    SELECT '${organisation}', a, now() FROM unnest(ARRAY['${addresses.join("','")}']) a ON CONFLICT DO NOTHING`)
export const published = async (body: object, key: string): Promise<string> => {
  const saved = await ask("POST", "/workflows", { name: `people_${++flows}`, ...body }, key)
  await ask("POST", `/workflows/${saved.body.data.id}/publish`, {}, key)
  return saved.body.data.id
}
export const execute = (id: string, input: object, key: string) =>
  svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
    key,
    body: { input },
    headers: { authorization: `Bearer ${key}` }
  })
export const code = (body: string, tier = "instant") => ({
  form: "code",
  tier,
  code: `export default async (ctx) => { ${body} }`
})
export const execution = async (id: string | undefined, key: string) =>
  (await ask("GET", `/executions/${id}`, undefined, key)).body.data
export const ended = (id: string | undefined, key: string) =>
  eventually(
    () => execution(id, key),
    ({ status }) => status !== "running" && status !== "pending"
  )
export const notifications = async (key: string) => (await ask("GET", "/notifications", undefined, key)).body.data
/** The notifications, once none waits to be sent. */
export const settled = (key: string, count: number) =>
  eventually(
    () => notifications(key),
    (found) => found.length >= count && found.every(({ status }: { readonly status: string }) => status !== "queued")
  )

/** The open approvals of a run, once it has so many and is suspended. */
export const opened = async (executionId: string, key: string, count = 1) => {
  await eventually(
    () => execution(executionId, key),
    ({ waiting }) => waiting?.kind === "approval"
  )
  return eventually(
    async () => (await ask("GET", `/approvals?status=open&execution_id=${executionId}`, undefined, key)).body.data,
    (found) => found.length === count
  )
}
export const decide = (approval: { readonly id: string; readonly executionId: string }, body: object, key: string) =>
  svc.ask("POST", `/api/v1/executions/${approval.executionId}/approvals/${approval.id}`, { key, body })
/** The link of the mail to an address, once it has come. */
export const linkTo = async (address: string): Promise<string> => {
  const text = await eventually(
    async () => mailbox.messages.find((one) => one.includes(`To: ${address}\r\n`)),
    (found) => found !== undefined
  )
  const content = Buffer.from(text?.slice(text.indexOf("\r\n\r\n") + 4) ?? "", "base64").toString()
  assert.notInclude(`${text}${content}`, "Canary")
  return /http:\/\/svc\.test(\/approve\/\S+)/.exec(content)?.[1] ?? content
}

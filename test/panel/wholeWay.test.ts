/**
 * The whole way of a customer's person in the page of the company, from the minted token on: connects an account, installs an
 * integration, runs a workflow, and connects the account again that has expired. By keyboard alone, in a browser that blocks
 * cookies of other sites and every window that a page opens.
 */
import { afterAll, afterEach, assert, beforeAll, it } from "@effect/vitest"
import { choose, isFocused, rowOf, use } from "../support/panel/PanelKeys.js"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
import { signInByKeyboard, startBoard } from "../support/panel/SampleConnectors.js"
import { publishWidget, publishWorkflow } from "../support/panel/SampleWidget.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"

const panels = panelWorldOf()
let board: Awaited<ReturnType<typeof startBoard>>

beforeAll(async () => {
  await panels.start()
  board = await startBoard(panels, {})
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await board.close()
})

const blocked = { before: "window.open = () => null" }

/** Signs in at the board through the link that stands where a window was blocked. */
const signIn = async (panel: ShownPanel, name: string) => {
  await use(panel, panel.button("Sign in to Board"))
  await panel.shows("Your browser has opened no window.")
  const link = panel.frame.getByRole("link", { name: "Open the sign-in to Board" })
  const window = await panel.opened(() => use(panel, link))
  await signInByKeyboard(window, name)
  await panel.shows("Board is connected.")
  await window.close()
}

const run = async (panel: ShownPanel, message: string) => {
  await use(panel, panel.button("Start: Say who it is"))
  await rowOf(panel, "Actions", "Say who it is").getByRole("status").getByText(message).waitFor()
}

it("a person connects, installs, runs, and reconnects what broke, by keyboard, with blocked windows and cookies", async () => {
  const workflow = await publishWorkflow(
    panels,
    `const { sub } = await svc.connector.board.me({})
     return { message: \`\${ctx.installation.config.greeting} \${sub}\` }`
  )
  const widgetId = await publishWidget(
    panels,
    {
      integrations: [
        {
          slug: "greetings",
          title: "Greetings",
          connectors: ["board"],
          workflowIds: [workflow],
          configSchema: {
            type: "object",
            properties: { greeting: { title: "Greeting", enum: ["Hello", "Welcome"] } },
            required: ["greeting"]
          }
        }
      ],
      actions: [{ id: "who", title: "Say who it is", workflowId: workflow }],
      runs: true
    },
    { connectors: ["board"] }
  )
  const customer = await panels.customer()
  const panel = await customer.show({ widgetId, userId: "u-1", userName: "Ada" }, blocked)

  await use(panel, panel.button("Set up: Greetings"))
  await use(panel, panel.button("Connect a Board account"))
  await signIn(panel, "ada")
  await choose(panel, panel.field("Greeting"), "Welcome")
  await use(panel, panel.button("Set up"))
  await panel.shows("Greetings is set up.")
  await isFocused(panel.frame.getByRole("heading", { level: 1 }))
  await run(panel, "Welcome ada")
  await rowOf(panel, "Activity", "offered_").getByText("Done", { exact: true }).waitFor()

  const [connection] = await panels.made("GET", `/connections?customer_id=${customer.id}`)
  const [installation] = await panels.made("GET", `/installations?customer_id=${customer.id}`)
  assert.deepInclude(installation, { status: "active", connections: { board: connection.id } })
  await panels.sql("UPDATE connections SET status = 'expired', revision = revision + 1 WHERE id = $1", [connection.id])

  const again = await customer.show({ widgetId, userId: "u-1", userName: "Ada" }, blocked)
  await rowOf(again, "Automations", "Greetings").getByText("An account is missing").waitFor()
  await again.account("Board").getByText("Sign in again").waitFor()
  await use(again, again.button(/^Reconnect/))
  await signIn(again, "ada")
  await again.account("Board").getByText("Connected").waitFor()
  await rowOf(again, "Automations", "Greetings").getByText("On", { exact: true }).waitFor()
  await run(again, "Welcome ada")

  const types = async (shown: ShownPanel) => (await shown.messages()).map(({ data }) => data.type)
  for (const type of ["svc:ready", "svc:connection-created", "svc:installation-updated", "svc:action"])
    assert.include(await types(panel), type)
  assert.include(await types(again), "svc:connection-created")
  assert.lengthOf(await panels.made("GET", `/connections?customer_id=${customer.id}`), 1)
})

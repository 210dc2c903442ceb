// A small product that shows its customer the panel of svc. The page asks this server for a token, and this server asks svc, with
// the API key that no browser sees. In a real product the customer and the person are those who are signed in.
import { readFileSync } from "node:fs"
import { createServer } from "node:http"

const { SVC_URL = "http://127.0.0.1:8080", SVC_KEY, SVC_CUSTOMER, SVC_WIDGET, PORT = "4000" } = process.env
if (!SVC_KEY || !SVC_CUSTOMER) {
  console.error("Set SVC_KEY, a key that reaches chosen customers, and SVC_CUSTOMER, one of them (cus_… or ref:…).")
  process.exit(1)
}
const page = readFileSync(new URL("page.html", import.meta.url))

const mint = async (origin) => {
  const session = { endOrgId: SVC_CUSTOMER, userId: "ada", userName: "Ada", allowedOrigins: [origin] }
  const answer = await fetch(`${SVC_URL}/api/v1/embed/token`, {
    method: "POST",
    headers: { authorization: `Bearer ${SVC_KEY}`, "content-type": "application/json" },
    body: JSON.stringify(SVC_WIDGET ? { ...session, widgetId: SVC_WIDGET } : session)
  })
  const { iframeUrl, message, token } = await answer.json()
  if (!answer.ok) throw new Error(`svc answered ${answer.status}: ${message}`)
  return { iframeUrl, token }
}

const server = createServer(async (request, response) => {
  if (request.method === "GET" && request.url === "/")
    return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page)
  // A page of another origin cannot make its visitors ask: browsers say where a POST comes from.
  const origin = `http://${request.headers.host}`
  if (request.method !== "POST" || request.url !== "/integrations/token" || request.headers.origin !== origin)
    return response.writeHead(404).end()
  try {
    const minted = JSON.stringify(await mint(origin))
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" }).end(minted)
  } catch (error) {
    console.error(error.message)
    response.writeHead(502).end()
  }
})
server.listen(Number(PORT), "127.0.0.1", () =>
  console.log(`The product is at http://localhost:${server.address().port}`)
)

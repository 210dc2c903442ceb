/** Texts of the operations that start runs, on surfaces A and C, and of the proxy. */
import type { ExecutionApi, RunApi } from "../execution/Api.js"
import type { OperationText, TextsOf } from "./OperationText.js"

const start: Pick<OperationText, "answers" | "example"> = {
  answers: {
    200: "The run has ended. The body is what the workflow returned, or its error if `x-svc-execution-status` is `failed`.",
    202: "The run is accepted. `location` has the path of its record."
  },
  example: { input: { name: "Ada" }, metadata: { ticket: "T-1" } }
}

const startDescription =
  "An Instant workflow answers when it has ended, others answer 202 at once. " +
  "A workflow that throws is a failed run and not an HTTP error: it is answered with 200. " +
  "With an Idempotency-Key the run starts once, and a repetition is answered from the first run."

const proxyDescription =
  "Everything after `/api/v1/proxy/`, slashes and query included, goes to the connection's base URL with the " +
  "connection's credential. The answer is the provider's, with its status, headers and body. " +
  "The key also needs `connections:read`."

const proxy = (method: string): OperationText => ({
  summary: `Send a ${method} to a provider`,
  description: proxyDescription,
  answers: {}
})

const proxyWithBody = (method: string): OperationText => ({ ...proxy(method), example: { name: "Ada" } })

/** Texts of surface A by operation id. */
export const executionTexts: TextsOf<typeof ExecutionApi> = {
  "execution.execute": {
    summary: "Start a workflow",
    description: `Runs a published version of the workflow in an environment. ${startDescription}`,
    ...start
  },
  "proxy.get": proxy("GET"),
  "proxy.post": proxyWithBody("POST"),
  "proxy.put": proxyWithBody("PUT"),
  "proxy.patch": proxyWithBody("PATCH"),
  "proxy.delete": proxy("DELETE")
}

/** Texts of starting a run on surface C. */
export const runTexts: TextsOf<typeof RunApi> = {
  "run.run": {
    summary: "Run a workflow",
    description: `The same as \`POST /api/v1/workflows/{workflowId}/execute\` of surface A. ${startDescription}`,
    ...start
  }
}

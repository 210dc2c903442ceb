/** The scope rules of endpoints that reach resources of every type at once. */
import type { Scoped } from "../Endpoint.js"

/** A key that is narrowed to particular resources, of whichever type, may not use the endpoint. */
export const closedToNarrowedKeys: Scoped["Type"] = {
  connector: "closed",
  connection: "closed",
  workflow: "closed",
  widget: "closed",
  secret: "closed",
  environment: "closed"
}

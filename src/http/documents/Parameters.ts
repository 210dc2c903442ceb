/** Descriptions of the parameters that operations of several groups have, by name; the others stand in the operations. */
export const sharedParameters: { readonly [name: string]: string } = {
  tid: "The id of the customer, or `ref:` with its external reference.",
  wid: "The id of the workflow.",
  eid: "The id of the execution.",
  ctr: "The id or the slug of the connector.",
  page_size: "How many records a page has, from 1 to 200. Without it: 50.",
  cursor: "`page.nextCursor` of the page before.",
  created_after: "Only records created at this time or later, as in 2026-11-21T07:10:41Z.",
  created_before: "Only records created before this time.",
  from: "The same as `created_after`.",
  to: "The same as `created_before`.",
  q: "Only records whose name contains this text.",
  status: "Only records with this status.",
  type: "Only records of this type.",
  kind: "Only records of this kind.",
  include:
    "Additional parts of the answer, separated by commas: `actions` of connectors; `diagram`, `published` and `triggers` of a workflow.",
  version: "The version. Without it: the newest that the caller may read, of a workflow the draft.",
  customer_id: "Only records of this customer.",
  workflow_id: "Only records of this workflow.",
  connector: "Only records of this connector, by slug.",
  integration: "Only records of this integration, by slug.",
  environment: "Only records of this environment, by slug.",
  trigger_id: "Only records of this trigger."
}

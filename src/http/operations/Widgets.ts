/** The operations on widgets: what a company's panel offers its customers. Contract: surface C bodies; widget record. */
import { Widgets, WidgetList, WidgetVersionList } from "../../actors/management/organisation/Widgets.js"
import { Widget, widgetLimits, WidgetVersion } from "../../domain/organisation/Widget.js"
import { operationsOf } from "../operation/Operation.js"
import { empty, newRecord, page, record } from "../operation/Output.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"

const parameters = { wdg: "The id of the widget." }

/** All that reach one widget may read it. */
const ofWidgets = operationsOf({
  parameters,
  with: Widgets,
  resource: "widget",
  sharing: "read",
  scoped: { widget: "path" },
  permit: "widgets:read"
})

/** A key's scope has all connectors and workflows of a widget that it changes. */
const ofWidgetChanges = operationsOf({
  parameters,
  with: Widgets,
  resource: "widget",
  sharing: "change",
  scoped: { widget: "path", connector: "record", workflow: "record" }
})

/** The operations of the group `widgets`, in the order of the documents. */
export const widgetsOperations = [
  ofWidgets({
    name: "widgets.list",
    summary: "List widgets",
    description: "Lists the organisation's widgets, newest first.",
    answers: { 200: "A page of widgets." },
    route: "GET /api/v1/widgets",
    query: WidgetList,
    output: page(Widget.View),
    scoped: { widget: "list" },
    use: (widgets, { context, query }) => widgets.list(context, query)
  }),
  ofWidgetChanges({
    name: "widgets.create",
    summary: "Create a widget",
    description: `Creates the draft of a widget: the connectors, integrations and actions that a panel offers, its look, and the origins of the pages that may show it. It may name what does not exist yet. An organisation has at most ${widgetLimits.widgets} widgets.`,
    answers: { 201: "The draft of the widget is created." },
    example: {
      name: "Settings page",
      connectors: ["hubspot"],
      theme: { colors: { accent: "#1d4ed8", accentText: "#ffffff" }, radius: 8 },
      allowedOrigins: ["https://app.example.com"],
      features: {
        integrations: [{ slug: "contact-sync", title: "Contacts", connectors: ["hubspot"] }],
        actions: [{ id: "sync-now", title: "Synchronise now", workflowId: "wf_000000000000" }],
        runs: true
      }
    },
    route: "POST /api/v1/widgets",
    body: strictPayload(Widget.Create),
    output: newRecord(Widget.View),
    permit: "widgets:create",
    scoped: { widget: "create", connector: "record", workflow: "record" },
    use: (widgets, { context, body }) => widgets.create(context, body)
  }),
  ofWidgets({
    name: "widgets.get",
    summary: "Read a widget",
    description: "Reads a widget's draft.",
    answers: { 200: "The widget." },
    route: "GET /api/v1/widgets/:wdg",
    output: record(Widget.View),
    use: (widgets, { context, path }) => widgets.get(context, path.wdg)
  }),
  ofWidgetChanges({
    name: "widgets.update",
    summary: "Change a widget",
    description:
      "Changes the members of the draft that are sent; the others stay, and so does what is published. `theme` and `features` are replaced as a whole.",
    answers: { 200: "The widget after the change." },
    example: { locale: "de", theme: { colors: { text: "#111827", background: "#ffffff" } } },
    route: "PUT /api/v1/widgets/:wdg",
    body: putPayload(Widget.Update, Widget.View),
    output: record(Widget.View),
    permit: "widgets:update",
    use: (widgets, { context, path, body }) => widgets.update(context, path.wdg, body)
  }),
  ofWidgetChanges({
    name: "widgets.delete",
    summary: "Delete a widget",
    description: "Deletes a widget with its versions.",
    answers: { 204: "The widget is deleted." },
    route: "DELETE /api/v1/widgets/:wdg",
    output: empty,
    permit: "widgets:delete",
    use: (widgets, { context, path }) => widgets.remove(context, path.wdg)
  }),
  ofWidgetChanges({
    name: "widgets.publish",
    summary: "Publish a widget",
    description: `Freezes the draft as the next version, which new sessions have. A draft that is published already gets no new version. Refused with the place of each mistake: connectors that do not exist or are drafts, workflows that are archived or of one customer, schemas of which the panel can make no form. A widget has at most ${widgetLimits.versions} versions.`,
    answers: { 200: "The published widget." },
    route: "POST /api/v1/widgets/:wdg/publish",
    output: record(Widget.View),
    form: { idempotency: "lease" },
    permit: "widgets:update",
    use: (widgets, { context, path }) => widgets.publish(context, path.wdg)
  }),
  ofWidgets({
    name: "widgets.versions",
    summary: "List the versions of a widget",
    description: "Lists the published versions with what each has frozen, newest first.",
    answers: { 200: "A page of versions." },
    route: "GET /api/v1/widgets/:wdg/versions",
    query: WidgetVersionList,
    output: page(WidgetVersion.View),
    use: (widgets, { context, path, query }) => widgets.versions(context, path.wdg, query)
  })
] as const

/**
 * Why a connector does not serve what the unified API has: the reasons in docs/unified-connectors.md. `npm run generate` fails
 * for a gap of a connector of the category's own kind that has no reason, and for a reason without a gap.
 */

/** By `slug category/entity`, or with a verb behind it. */
export const gapReasons: Readonly<Record<string, string>> = {
  "cin7-core cdm/contact update": "the API replaces the whole customer: the action `updateCustomer`",
  "cin7-core cdm/fulfillment": "fulfilments are found below one sale only: the action `getSaleFulfilments`",
  "cin7-core cdm/inventory-level get": "the API has no request for one level",
  "cin7-core cdm/inventory-level create": "stock is changed by an adjustment: the action `createStockAdjustment`",
  "cin7-core cdm/inventory-level update": "stock is changed by an adjustment: the action `createStockAdjustment`",
  "cin7-core cdm/inventory-level delete": "a level is no record of its own",
  "cin7-core cdm/invoice": "invoices are parts of one sale: the action `getSale`",
  "cin7-core cdm/order create": "a sale and its lines are two requests: the actions `createSale` and `createSaleOrder`",
  "cin7-core cdm/order update": "the API replaces the whole sale: the action `updateSale`",
  "quickbooks cdm/fulfillment": "the API has no fulfilments",
  "quickbooks cdm/inventory-level": "the quantity on hand is a member of an item: the action `getItem`",
  "quickbooks cdm/order": "the API has no sales orders",
  "shipstation cdm/contact create": "the API only reads customers",
  "shipstation cdm/contact update": "the API only reads customers",
  "shipstation cdm/contact delete": "the API only reads customers",
  "shipstation cdm/fulfillment get": "the API has no request for one fulfilment",
  "shipstation cdm/fulfillment create":
    "a fulfilment follows from a label or a mark: the actions `createLabel` and `markOrderShipped`",
  "shipstation cdm/fulfillment update": "the API does not change fulfilments",
  "shipstation cdm/fulfillment delete": "a label is voided: the action `voidLabel`",
  "shipstation cdm/inventory-level": "this version of the API has no stock",
  "shipstation cdm/invoice": "the API has no invoices",
  "shipstation cdm/product create": "products come from the stores",
  "shipstation cdm/product update": "the API replaces the whole product, and products come from the stores",
  "shipstation cdm/product delete": "products come from the stores",
  "shopify cdm/fulfillment get": "a fulfilment is found below its order only: the action `getFulfillment`",
  "shopify cdm/fulfillment update": "only the tracking is changed: the action `updateTracking`",
  "shopify cdm/fulfillment delete": "a fulfilment is cancelled, which the connector has no action for",
  "shopify cdm/inventory-level get": "the API has no request for one level",
  "shopify cdm/inventory-level update": "a level is set: its creation is that, too",
  "shopify cdm/inventory-level delete": "a level is no record of its own",
  "shopify cdm/invoice": "the API has no invoices",
  "stripe cdm/fulfillment": "the API has no fulfilments",
  "stripe cdm/inventory-level": "the API has no stock",
  "stripe cdm/invoice create":
    "lines are records of their own, made before the invoice: the actions `createInvoiceItem` and `createInvoice`",
  "stripe cdm/invoice update": "what may change depends on the status: the action `updateInvoice`",
  "stripe cdm/invoice delete":
    "only drafts are deleted, others are voided: the actions `deleteInvoice` and `voidInvoice`",
  "stripe cdm/order": "the API has no orders",
  "xero cdm/fulfillment": "the API has no fulfilments",
  "xero cdm/inventory-level": "the quantity on hand is a member of an item: the action `getItem`",
  "xero cdm/invoice delete": "an invoice is voided by its status: the action `updateInvoice`",
  "xero cdm/order": "the API has no sales orders",
  "google-drive documents/document-content delete": "content is deleted with its document",
  "hubspot crm/engagement-type":
    "its engagements are calls, meetings and e-mails, each an object of its own: the variants of `crm/engagement`",
  "hubspot crm/lead create":
    "a lead belongs to a contact, which the common record cannot name; the action `createLead` takes one",
  "hubspot crm/stage get": "a stage is found below its pipeline only, which its id does not name",
  "jira project-management/comment list": "comments are listed by their issue only, which a list does not name",
  "pipedrive crm/engagement-type get": "the API has no request for one type",
  "pipedrive crm/lead create":
    "a lead belongs to a person or an organisation, which the common record cannot name; the action `createLead` takes them",
  "salesforce crm/engagement-type":
    "its engagements are events and tasks of two subtypes: the variants of `crm/engagement`"
}

/** What else is to be known of an entity, by `slug category/entity`. */
export const entityNotes: Readonly<Record<string, ReadonlyArray<string>>> = {
  "confluence knowledge-base/article": [
    "`content` is in Confluence's storage format, which is XHTML; `format` is `html`. Confluence archives pages by a task of its own, so that `ARCHIVED` is not written. Deleted articles are in the bin.",
    "Times are filtered by svc, the newest first: the API has no filter."
  ],
  "email messaging/direct-message": [
    "The sender is that of the connection's config. `remoteFields` has the subject and other members of `sendEmail`."
  ],
  "github project-management/comment": ["GitHub lists the comments of one repository only."],
  "github project-management/task": [
    "Issues of all repositories that the account reaches. `assigneeIds` are logins, `dueDate` is that of the milestone, and `IN_PROGRESS` is not written."
  ],
  "github project-management/user": ["Members of the organization that the connection's config names."],
  "google-drive documents/document": [
    "All files but folders. Deleting puts a file into the bin. A file is moved by the action `updateFile`, not by `folderId`."
  ],
  "google-drive documents/document-content": [
    "Of Google documents; `json` is no format of theirs. The id is the document's."
  ],
  "jira project-management/comment": [
    "The id names the issue, too; a comment that is read does not name it in `taskId`."
  ],
  "jira project-management/task": [
    "A new issue is a Task, unless `remoteFields` has another `issuetype`. The status follows from transitions: the action `transitionIssue`. An issue has one assignee, and the priorities are those that every site begins with.",
    "Jira turns texts into Atlassian documents, and back."
  ],
  "hubspot crm/engagement": [
    "HubSpot requires a time: a new record without one has that of its creation.",
    "Companies and contacts are associated when the record is created, not later.",
    "Changes are filtered by svc: HubSpot's search answers no associations."
  ],
  "hubspot crm/lead": [
    "Names and address are those of the lead's contact. `title` is the lead's own name, `status` its stage."
  ],
  "hubspot crm/opportunity": [
    "The stage decides the status. Companies and contacts are associated when the deal is created, not later.",
    "Changes are filtered by svc: HubSpot's search answers no associations."
  ],
  "hubspot crm/stage": ["The stages of all pipelines of deals. HubSpot's stage does not name its pipeline."],
  "hubspot crm/task": [
    "HubSpot requires a due date: a new task without one is due at its creation.",
    "Companies, contacts and deals are associated when the task is created, not later.",
    "Changes are filtered by svc: HubSpot's search answers no associations."
  ],
  "pipedrive crm/contact": ["Pipedrive takes the whole name and splits it at its first space."],
  "pipedrive crm/engagement": [
    "Activities but those of the types task and deadline; svc chooses them. A written start keeps its day."
  ],
  "pipedrive crm/lead": ["`title` is the lead's own title; names are those of its person."],
  "pipedrive crm/opportunity": ["A deal has one person: the first of `contactIds`."],
  "pipedrive crm/task": [
    "Activities of the types task and deadline, done or not; svc chooses them. A new one has the type task."
  ],
  "salesforce crm/engagement": [
    "Calls and e-mails are tasks, which have a day and no time. A record has one contact: the first of `contactIds`."
  ],
  "salesforce crm/lead": ["Salesforce requires `company`, too."],
  "salesforce crm/note": ["A note has one parent: the opportunity, else the contact, else the account."],
  "salesforce crm/opportunity": [
    "The stage decides the status. Salesforce requires `stageId` and `closeDate`, too. An account without several currencies has no field for one, and contacts have roles, which are records of their own."
  ],
  "salesforce crm/stage": ["The id is the stage's name, by which opportunities name it."],
  "salesforce crm/task": ["Salesforce computes the account of the other records."]
}

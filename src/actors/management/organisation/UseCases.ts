/** The use cases of organisations, their customers, and what belongs to these, as one layer. */
import { Layer } from "effect"
import type { PlanName } from "../../../domain/organisation/Plan.js"
import { Configuration } from "./Configuration.js"
import { Customers } from "./Customers.js"
import { Environments } from "./Environments.js"
import { Groups } from "./Groups.js"
import { Installations } from "./Installations.js"
import { Notifications } from "./Notifications.js"
import { Organisations } from "./Organisations.js"
import { Quotas } from "./Quotas.js"
import { StartQuota } from "./StartQuota.js"
import { Tenants } from "./Tenants.js"
import { WebhookEndpoints } from "./WebhookEndpoints.js"
import { Widgets } from "./Widgets.js"
import { Workspaces } from "./Workspaces.js"

/** `defaultPlan`: that of new accounts. */
export const organisationUseCases = (options: { readonly defaultPlan: PlanName }) =>
  Layer.mergeAll(
    Configuration.Default,
    Customers.Default,
    Environments.Default,
    Installations.Default,
    Notifications.Default,
    Organisations.Default(options),
    Quotas.Default,
    StartQuota.Default,
    Tenants.Default,
    WebhookEndpoints.Default,
    Widgets.Default,
    Workspaces.Default
  ).pipe(Layer.provideMerge(Groups.Default))

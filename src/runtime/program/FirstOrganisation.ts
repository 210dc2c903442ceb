/** Creates the first organisation of an installation, with its workspace, roles, environments and an API key. */
import { DateTime, Effect, type Redacted } from "effect"
import { makeOrganisationSetup, fullAccess } from "../../actors/management/organisation/OrganisationSetup.js"
import { Computations } from "../../actors/ports/Computations.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Records } from "../../actors/ports/Records.js"
import {
  type Author,
  contentText,
  newDeployment,
  newWorkflow,
  publishedWorkflow,
  newVersion
} from "../../domain/workflow/WorkflowChanges.js"
import type { CustomerId, OrganisationId, SpaceId, WorkflowId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { newCustomer } from "../../domain/organisation/Customer.js"
import type { Organisation } from "../../domain/organisation/Organisation.js"
import type { PlanName } from "../../domain/organisation/Plan.js"
import { slugOf } from "../../domain/Slug.js"
import { OperatorError } from "../process/OperatorError.js"

export interface FirstOrganisation {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  /** A key with full access to the organisation. Shown once, stored as a hash. */
  readonly apiKey: Redacted.Redacted
}

/** The source of the example workflow of a new installation. */
const exampleSource = `/** Greets, and remembers how often it has greeted. */
export default async function greet(ctx) {
  const name = ctx.input.name ?? "world"
  const times = await svc.state.increment("greetings", 1)
  console.log(\`greeting \${name}\`)
  return { greeting: \`Hello, \${name}!\`, times }
}
`

const author = (organisationId: OrganisationId, spaceId: SpaceId, now: string): Author => ({
  organisationId,
  spaceId,
  by: "bootstrap",
  now
})

/** Creates an organisation with its first workspace and a Full access Live key. Fails if the name is taken. */
export const makeFirstOrganisation = Effect.fn("First.make")(function* (name: string, plan: PlanName) {
  const records = yield* Records
  const identifiers = yield* Identifiers
  const setup = yield* makeOrganisationSetup
  const now = DateTime.formatIso(yield* DateTime.now)
  const organisation: Organisation = {
    id: identifiers.next("org"),
    name,
    slug: slugOf(name),
    parentId: null,
    timezone: "UTC",
    plan,
    status: "active",
    defaultEnvironment: "live",
    settings: { codeEditing: true, dlqAutoReplay: false },
    createdAt: now,
    updatedAt: now,
    version: 1
  }
  const { key, text } = setup.firstKey(organisation, "bootstrap", fullAccess)
  yield* records
    .transact(organisation.id, (tx) => setup.insert(tx, organisation, key))
    .pipe(
      Effect.catchTag(
        "AlreadyExists",
        () => new OperatorError({ message: `There is an organisation called ${name} already. Choose another name.` })
      ),
      Effect.catchTag(
        "Unavailable",
        ({ reason }) => new OperatorError({ message: `The organisation could not be made: ${reason}.` })
      )
    )
  return { organisationId: organisation.id, spaceId: key.spaceId, apiKey: text } satisfies FirstOrganisation
})

export interface Example {
  readonly customerId: CustomerId
  readonly workflowId: WorkflowId
}

/** Creates a customer and a published workflow for a development installation. */
export const makeExample = Effect.fn("First.example")(function* ({ organisationId, spaceId }: FirstOrganisation) {
  const records = yield* Records
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const { compute } = yield* Computations
  const by = author(organisationId, spaceId, DateTime.formatIso(yield* DateTime.now))
  const analysed = yield* Effect.orDie(compute("analyseWorkflow", organisationId, exampleSource))
  if (!analysed.ok) return yield* Effect.dieMessage("the example is no workflow")
  const { bindings, diagram, script, warnings } = analysed.value
  const draft = newWorkflow(
    identifiers.workflow(),
    by,
    {
      name: "hello_world",
      form: "code",
      code: exampleSource,
      description: "An example: greets whom its input names"
    },
    null,
    {
      script,
      waits: false,
      bindings: bindings as unknown as Json,
      diagram: diagram as unknown as Json,
      warnings: warnings as unknown as Json,
      problems: []
    },
    ""
  ) // plain data
  const workflow = publishedWorkflow({ ...draft, contentHash: digests.sha256Hex(contentText(draft)) }, 1, by.now)
  const customerId = identifiers.next("cus")
  yield* records
    .transact(organisationId, (tx) =>
      Effect.gen(function* () {
        const customer = { name: "Example customer", slug: "example", externalRef: "example" }
        yield* tx.customers.insert(newCustomer(organisationId, customerId, customer, by.now))
        yield* tx.workflows.insert({ ...workflow, version: 1 })
        yield* tx.workflowVersions.insert(newVersion(workflow, 1, null, by))
        yield* tx.deployments.insert(newDeployment(workflow, "live", 1, by))
      })
    )
    .pipe(
      Effect.catchTags({
        AlreadyExists: () => Effect.dieMessage("a fresh organisation has nothing in it"),
        Unavailable: ({ reason }) => new OperatorError({ message: `The example could not be made: ${reason}.` })
      })
    )
  return { customerId, workflowId: workflow.id } satisfies Example
})

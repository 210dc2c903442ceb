/** The operations that describe the common models. Contract: unified API; CDM types. */
import { Effect, Schema } from "effect"
import { closestName } from "../../../domain/ClosestName.js"
import { NotFound } from "../../../domain/Failure.js"
import { JsonObject } from "../../../domain/Json.js"
import { findModel, models } from "../../../domain/model/Models.js"
import { modelSchemas } from "../../../domain/model/ModelSchema.js"
import { operationsOf } from "../../operation/Operation.js"
import { bareValue, record } from "../../operation/Output.js"

const Verbs = Schema.Array(Schema.Literal("list", "get", "create", "update", "delete"))

const ModelSummary = Schema.Struct({
  name: Schema.String.annotations({ description: "`CDMOrder`, or `crm.contact`" }),
  verbs: Verbs
}).annotations({ identifier: "ModelSummary" })

const ModelView = Schema.Struct({
  ...ModelSummary.fields,
  read: JsonObject.annotations({ description: "the JSON Schema of a record that is read" }),
  write: JsonObject.annotations({ description: "the JSON Schema of a record that is created" })
}).annotations({ identifier: "Model" })

const ModelList = Schema.Struct({ data: Schema.Array(ModelSummary) }).annotations({ identifier: "ModelList" })

const ofModels = operationsOf({
  with: Effect.void,
  resource: "model",
  permit: "anyCaller",
  sharing: "read",
  scoped: {}
})

/** The operations of the group `models`, in the order of the documents. */
export const modelsOperations = [
  ofModels({
    name: "models.list",
    summary: "List the common models",
    description: "Lists the entities of the common data model and of the unified API, with the verbs that each allows.",
    answers: { 200: "All models." },
    route: "GET /api/v1/models",
    output: bareValue(ModelList),
    use: () => Effect.succeed({ data: models.map(({ name, verbs }) => ({ name, verbs })) })
  }),
  ofModels({
    name: "models.get",
    summary: "Read a common model",
    description:
      "Returns the JSON Schemas of a model's records: of those that are read, and of those that are created.",
    answers: { 200: "The model." },
    parameters: { model: "The name of the model: `CDMOrder`, or `crm.contact`." },
    route: "GET /api/v1/models/:model",
    output: record(ModelView),
    use: (_, { path }) => {
      const found = findModel(path.model)
      return found === undefined
        ? new NotFound({
            what: "model",
            meant: closestName(
              path.model,
              models.map(({ name }) => name)
            )
          })
        : Effect.succeed({ name: found.name, verbs: found.verbs, ...modelSchemas(found) })
    }
  })
]

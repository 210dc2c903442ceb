/** The entities of the unified API by category, with their members and verbs. Contract: unified API. */
import {
  allVerbs,
  anyValue,
  boolean,
  country,
  currency,
  dateTime,
  email,
  type ModelFields,
  identifiers,
  integer,
  json,
  listOf,
  type Model,
  money,
  objectOf,
  oneOf,
  optional,
  phone,
  readOnly,
  required,
  share,
  text,
  type Verb
} from "../model/FieldType.js"

const emailAddresses = listOf(objectOf({ emailAddress: email, type: text }))
const phoneNumbers = listOf(objectOf({ phoneNumber: phone, type: text }))
const addresses = listOf(
  objectOf({ street1: text, street2: text, city: text, state: text, postalCode: text, country, type: text })
)

/** Members of every record of the unified API. `raw` is there only where it is asked for. */
export const commonUnifiedFields: ModelFields = {
  ...identifiers({ id: text }),
  ...readOnly({
    remoteId: text,
    remoteCreatedAt: dateTime,
    remoteUpdatedAt: dateTime,
    remoteWasDeleted: boolean,
    url: text
  }),
  ...optional({ customFields: json }),
  ...readOnly({ raw: json })
}

interface EntityForm {
  readonly fields: ModelFields
  readonly verbs: ReadonlyArray<Verb>
  readonly anyOf?: ReadonlyArray<ReadonlyArray<string>>
}

const everything = allVerbs
const reading: ReadonlyArray<Verb> = ["list", "get"]
const creating: ReadonlyArray<Verb> = ["create"]

const formats = oneOf("markdown", "html", "text", "json")
const activityTypes = ["CALL", "MEETING", "EMAIL"]

const categories: Readonly<Record<string, Readonly<Record<string, EntityForm>>>> = {
  crm: {
    account: {
      verbs: everything,
      fields: {
        ...required({ name: text }),
        ...optional({
          description: text,
          industry: text,
          website: text,
          numberOfEmployees: integer,
          ownerId: text,
          emailAddresses,
          phoneNumbers,
          addresses
        }),
        ...readOnly({ lastActivityAt: dateTime })
      }
    },
    contact: {
      verbs: everything,
      anyOf: [["lastName", "firstName", "emailAddresses"]],
      fields: {
        ...optional({
          firstName: text,
          lastName: text,
          accountId: text,
          ownerId: text,
          emailAddresses,
          phoneNumbers,
          addresses,
          title: text
        }),
        ...readOnly({ lastActivityAt: dateTime })
      }
    },
    engagement: {
      verbs: everything,
      anyOf: [["engagementTypeId", "engagementType"]],
      fields: optional({
        subject: text,
        content: text,
        direction: oneOf("INBOUND", "OUTBOUND"),
        engagementTypeId: text,
        engagementType: oneOf(...activityTypes),
        startTime: dateTime,
        endTime: dateTime,
        ownerId: text,
        accountId: text,
        contactIds: listOf(text)
      })
    },
    "engagement-type": {
      verbs: reading,
      fields: optional({ name: text, activityType: oneOf(...activityTypes, "OTHER") })
    },
    lead: {
      verbs: everything,
      fields: {
        ...optional({ firstName: text }),
        ...required({ lastName: text }),
        ...optional({
          title: text,
          company: text,
          leadSource: text,
          ownerId: text,
          emailAddresses,
          phoneNumbers,
          addresses
        }),
        ...readOnly({ convertedAt: dateTime, convertedContactId: text, convertedAccountId: text }),
        ...optional({ status: text })
      }
    },
    note: {
      verbs: creating,
      fields: {
        ...required({ content: text }),
        ...optional({ ownerId: text, accountId: text, contactId: text, opportunityId: text })
      }
    },
    opportunity: {
      verbs: everything,
      fields: {
        ...required({ name: text }),
        ...optional({
          description: text,
          amount: money,
          currency,
          ownerId: text,
          accountId: text,
          contactIds: listOf(text),
          stageId: text,
          pipelineId: text,
          status: oneOf("OPEN", "WON", "LOST"),
          closeDate: dateTime
        }),
        ...readOnly({ lastActivityAt: dateTime })
      }
    },
    stage: { verbs: reading, fields: optional({ name: text, pipelineId: text, order: integer, probability: share }) },
    task: {
      verbs: everything,
      fields: {
        ...required({ subject: text }),
        ...optional({
          content: text,
          status: oneOf("OPEN", "CLOSED"),
          dueDate: dateTime,
          completedAt: dateTime,
          ownerId: text,
          accountId: text,
          contactId: text,
          opportunityId: text
        })
      }
    },
    user: { verbs: reading, fields: optional({ name: text, email, isActive: boolean }) }
  },
  documents: {
    document: {
      verbs: everything,
      fields: {
        ...required({ title: text }),
        ...optional({ mimeType: text, folderId: text }),
        ...readOnly({ size: integer, createdBy: text, updatedBy: text, shareUrl: text })
      }
    },
    "document-content": {
      verbs: ["get", "create", "update", "delete"],
      fields: {
        ...required({ documentId: text }),
        ...optional({ format: formats }),
        ...required({ content: text })
      }
    }
  },
  messaging: {
    "channel-message": {
      verbs: creating,
      anyOf: [["channelId", "channelName"]],
      fields: {
        ...optional({ channelId: text, channelName: text }),
        ...required({ text }),
        ...optional({ blocks: listOf(anyValue), threadId: text, attachments: listOf(anyValue) }),
        ...readOnly({ sentAt: dateTime })
      }
    },
    "direct-message": {
      verbs: creating,
      anyOf: [["userId", "email"]],
      fields: {
        ...optional({ userId: text, email }),
        ...required({ text }),
        ...optional({ blocks: listOf(anyValue), threadId: text, attachments: listOf(anyValue) }),
        ...readOnly({ sentAt: dateTime })
      }
    }
  },
  "knowledge-base": {
    space: { verbs: reading, fields: optional({ name: text, key: text, url: text }) },
    article: {
      verbs: everything,
      fields: {
        ...required({ title: text }),
        ...optional({
          spaceId: text,
          parentId: text,
          content: text,
          format: formats,
          status: oneOf("DRAFT", "PUBLISHED", "ARCHIVED")
        }),
        ...readOnly({ authorId: text })
      }
    },
    comment: {
      verbs: everything,
      fields: { ...required({ articleId: text, content: text }), ...readOnly({ authorId: text }) }
    }
  },
  "project-management": {
    project: { verbs: reading, fields: optional({ name: text, key: text, status: text }) },
    task: {
      verbs: everything,
      fields: {
        ...required({ title: text }),
        ...optional({
          description: text,
          projectId: text,
          status: oneOf("OPEN", "IN_PROGRESS", "DONE"),
          rawStatus: text,
          priority: oneOf("LOW", "NORMAL", "HIGH", "URGENT"),
          assigneeIds: listOf(text),
          dueDate: dateTime,
          labels: listOf(text),
          parentId: text
        })
      }
    },
    comment: { verbs: everything, fields: required({ taskId: text, content: text }) },
    user: { verbs: reading, fields: optional({ name: text, email }) }
  }
}

/** An entity of the unified API. */
export interface UnifiedEntity extends Model {
  /** As paths write it, such as `knowledge-base`. */
  readonly category: string
  /** As paths write it, such as `engagement-type`. */
  readonly entity: string
}

/** All entities by category and name. */
export const unifiedEntities: ReadonlyArray<UnifiedEntity> = Object.entries(categories).flatMap(
  ([category, entities]) =>
    Object.entries(entities).map(([entity, { anyOf = [], fields, verbs }]) => ({
      name: `${category}.${entity}`,
      category,
      entity,
      fields: { ...commonUnifiedFields, ...fields },
      anyOf,
      verbs
    }))
)

const byName = new Map(unifiedEntities.map((one) => [one.name, one]))

/** `crm`, `knowledge-base`, …: lower-case with hyphens, however a caller writes it. */
export const kebabOf = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll("_", "-")

/** The entity of a category; names match without regard to case, and `_` and `-` are the same. */
export const findUnifiedEntity = (category: string, entity: string): UnifiedEntity | undefined =>
  byName.get(`${kebabOf(category)}.${kebabOf(entity)}`)

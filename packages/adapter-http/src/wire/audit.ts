import { ACTOR_KINDS, AUDIT_ACTIONS, type AuditEntry } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, uuid, type BodyOf } from './body.js'

export const auditActionSchema = z.enum(AUDIT_ACTIONS).meta({ id: 'AuditAction' })
export const actorKindSchema = z.enum(ACTOR_KINDS).meta({ id: 'ActorKind' })

export const auditEntrySchema = z
  .object({
    id: uuid,
    projectId: uuid,
    actor: z
      .object({
        kind: actorKindSchema,
        id: z.string().optional().meta({
          description: 'The id of the API key, also of one that signed in to the console.',
        }),
      })
      .meta({ id: 'Actor' }),
    action: auditActionSchema,
    targetId: z.string().meta({
      description:
        'The id of the row that changed. For an erased session its agent, for an erased principal the project.',
    }),
    count: z.int().min(0).optional().meta({
      description: 'The number of messages of an erased principal that the call found.',
    }),
    fields: z.array(z.string()).optional().meta({
      description: 'The names of the fields that an update set. Values are never stored.',
    }),
    createdAt: at,
  })
  .meta({ id: 'AuditEntry' })

export const auditBody = ({
  fields,
  createdAt,
  ...entry
}: AuditEntry): BodyOf<typeof auditEntrySchema> => ({
  ...entry,
  ...(fields && { fields: [...fields] }),
  createdAt: toIso(createdAt),
})

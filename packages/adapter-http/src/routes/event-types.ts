import {
  DEFINERS,
  eventTypeSettings,
  withIso,
  type CallName,
  type EventTypeSettings,
} from '@org/agent-messaging-core/host'
import type { EventType, ListedEventType } from '@org/agent-messaging-core/storage'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorize, authorizeOperator } from '../authorize.js'
import { answerFields, requestFields } from '../described.js'
import type { Env, RouteContext } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, textIn } from '../path-id.js'
import { routesOf, shown, shownPage, withoutBody } from '../route.js'
import { creationOf } from '../schemas.js'
import { at, named } from '../wire/body.js'

const settings = creationOf(
  'EventTypeSettings',
  requestFields<EventTypeSettings>(eventTypeSettings),
  { examples: [{ description: 'A customer paid an order', group: 'Orders', visible: true }] },
)

const { schema, example, ...facts } = answerFields<EventTypeSettings>(eventTypeSettings)
const listedFields = {
  name: z.string(),
  definedBy: z
    .enum(DEFINERS)
    .describe('The operator defines the types of the `installation`, for all projects.'),
  ...facts,
  createdAt: at.optional().describe('Present with `updatedAt` unless the service defines it.'),
  updatedAt: at.optional(),
}
const eventTypeSchema = named('EventTypeDefinition', { ...listedFields, schema, example })
const listedSchema = named(
  'ListedEventType',
  { ...listedFields, hasExample: z.boolean() },
  { description: 'A type without its schema and its example.' },
)

const shownType = (type: EventType) => withIso(type)
const shownListedType = (type: ListedEventType) => withIso(type)

/** The catalogue of a project, and the types of the installation for the operator. */
export const eventTypeRoutes = (d: HttpDeps) =>
  new Hono<Env>().route('/', catalogueRoutes(d, OF_PROJECT)).route('/', catalogueRoutes(d, OF_ALL))

const OF_PROJECT = {
  path: '/v1/event-types',
  suffix: '',
  of: 'of the project',
  access: (d: HttpDeps, call: CallName) => authorize(d, call),
}
const OF_ALL: typeof OF_PROJECT = {
  path: '/v1/operator/event-types',
  suffix: 'OfInstallation',
  of: 'of the installation, which all projects have',
  access: authorizeOperator,
}

function catalogueRoutes(d: HttpDeps, { path, suffix, of, access }: typeof OF_PROJECT) {
  const { eventTypes } = d.service
  const route = (call: CallName) => routesOf(d, { tag: 'Event types', access: access(d, call) })
  return new Hono<Env>()
    .put(
      `${path}/:name`,
      route('eventTypes.put')(
        {
          operationId: `putEventType${suffix}`,
          summary: `Define an event type ${of}`,
          description: 'Replaces the whole type. The example must match the schema.',
          body: settings,
          refusals: ['event_type_taken', 'too_many_event_types', 'project_not_found'],
          answer: shown('The event type', eventTypeSchema, shownType),
        },
        (c, sent) => eventTypes.put(byActor(c, { ...refIn(c), ...sent })),
      ),
    )
    .get(
      path,
      route('eventTypes.list')(
        {
          operationId: `listEventTypes${suffix}`,
          summary: `List the event types of the service and ${of}`,
          answer: shownPage(listedSchema, shownListedType),
        },
        (c) => eventTypes.list({ projectId: c.get('projectId') }),
      ),
    )
    .get(
      `${path}/:name`,
      route('eventTypes.get')(
        {
          operationId: `getEventType${suffix}`,
          summary: `Read an event type ${of}`,
          refusals: ['event_type_not_found'],
          answer: shown('The event type', eventTypeSchema, shownType),
        },
        (c) => eventTypes.get(refIn(c)),
      ),
    )
    .delete(
      `${path}/:name`,
      route('eventTypes.delete')(
        {
          operationId: `deleteEventType${suffix}`,
          summary: `Delete an event type ${of}`,
          description: 'Webhooks that subscribe to the name stay as they are.',
          refusals: ['event_type_not_found'],
          answer: withoutBody('The event type is deleted'),
        },
        (c) => eventTypes.delete(byActor(c, refIn(c))),
      ),
    )
}

/** The operator's requests have no project. */
const refIn = (c: RouteContext) => ({
  projectId: c.get('projectId') as string | undefined,
  name: textIn(c.req.param('name')),
})

import type { Client, ListedEvent, LoggedEvent, NewEvent } from '@org/agent-messaging-client'
import type { JsonObject } from '@org/agent-messaging-core'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand, type Invocation } from '../command.js'
import { instant, jsonFile, limitOption } from '../options.js'
import { forStdout, table } from '../output.js'
import { followed, recoveryProblem, recoveryText, WAIT, type WaitOption } from './recoveries.js'

type TailOptions = {
  readonly after?: string
  readonly since?: string
  readonly follow: boolean
}

type ListOptions = {
  readonly type?: string
  readonly published?: true
  readonly after?: string
  readonly before?: string
  readonly limit: number
}

type PublishOptions = Partial<Pick<NewEvent, 'id' | 'metadata'>> & {
  readonly data?: JsonObject
  readonly endUser?: string
  readonly agent?: string
  readonly session?: string
  readonly idempotencyKey?: string
}

export function addEvents(program: Command) {
  const events = program.command('events').description('publish events, and read their log')
  addPublish(events)
  addReplay(events)
  addList(events)
  addApiCommand(events, 'tail', {
    about: 'print events as they happen, until Ctrl-C',
    examples: [
      'agent-messaging events tail',
      'agent-messaging events tail --since 2030-01-31 --no-follow --json | jq .event',
    ],
    verb: 'read',
    thing: 'the events',
    call: tail,
  })
    .option('--since <time>', 'also events since this time, such as 2030-01-31', instant)
    .option('--after <cursor>', 'also events after this cursor, which --json prints')
    .option('--no-follow', 'print the events until now, and end')
}

function addList(events: Command) {
  addApiCommand(events, 'list', {
    about: 'list events, newest first, also those without a delivery',
    examples: [
      'agent-messaging events list --published',
      'agent-messaging events list --type order.* --after 2030-01-31',
    ],
    thing: 'the events',
    call: ({ client, options }: Invocation<ListOptions>) => {
      const { after, before, limit, type, published } = options
      const filter = { type, published, createdAfter: after, createdBefore: before }
      return firstOf(client.events.list(given(filter)), limit)
    },
    text: (found) => table(found.map(row), 'No events found.'),
  })
    .option('--type <type>', 'only events of this type, or of a group such as order.*')
    .option('--published', 'leave out the events of the service')
    .option('--after <time>', 'only events since this time, such as 2030-01-31', instant)
    .option('--before <time>', 'only events created before this time', instant)
    .addOption(limitOption('events'))
  addApiCommand(events, 'show <id>', {
    about: 'show an event, its deliveries, and why other webhooks do not have it',
    examples: ['agent-messaging events show order-42-paid'],
    thing: (id) => `event ${id}`,
    call: async ({ client }, id) => ({
      event: await client.events.get(id),
      story: await client.events.story(id),
    }),
    text: ({ event, story }) => `${story.text}\n\n${JSON.stringify(event, null, 2)}`,
  })
}

const row = ({ id, event, createdAt, hasDeliveries }: ListedEvent) => ({
  id,
  event,
  deliveries: hasDeliveries ? 'yes' : 'none',
  createdAt,
})

type ReplayOptions = WaitOption & {
  readonly type?: readonly string[]
  readonly after: string
  readonly before?: string
}

function addReplay(events: Command) {
  addApiCommand(events, 'replay <webhook>', {
    about: 'send stored events again to a webhook that subscribes to them',
    examples: ['agent-messaging events replay 0198c2f0-… --after 2030-01-31 --type order.paid'],
    thing: (id) => `the events for webhook ${id}`,
    call: (backend: Invocation<ReplayOptions>, id) => {
      const { type: types, after: createdAfter, before: createdBefore } = backend.options
      const chosen = { webhookIds: [id], createdAfter, ...given({ types, createdBefore }) }
      return followed(backend, backend.client.recoveries.start({ events: chosen }))
    },
    text: recoveryText,
    problem: recoveryProblem,
  })
    .requiredOption('--after <time>', 'events since this time, such as 2030-01-31', instant)
    .option('--before <time>', 'events before this time', instant)
    .option('--type <types...>', 'only these types, or groups such as order.*')
    .option('--wait', WAIT)
}

function addPublish(events: Command) {
  addApiCommand(events, 'publish <type>', {
    about: 'publish an event to the webhooks that subscribe to its type',
    examples: [
      `echo '{"orderId":"o-42"}' | agent-messaging events publish order.paid --data -`,
      'agent-messaging events publish order.paid --data order.json --id order-42-paid',
    ],
    thing: 'the event',
    call: ({ client, options }: Invocation<PublishOptions>, type) => {
      const { data = {}, id, metadata, endUser, agent, session, idempotencyKey } = options
      const more = given({ id, metadata, endUserId: endUser, agentId: agent, sessionId: session })
      return client.events.publish({ type, data, ...more }, given({ idempotencyKey }))
    },
    text: ({ id }) => `Published event ${id}.`,
  })
    .option('--data <file>', 'JSON file with the content, - for stdin (default: {})', jsonFile)
    .option('--id <id>', 'id of the event, which is published once')
    .option('--end-user <id>', 'the person whose data this is')
    .option('--agent <id>', 'agent in whose session the event stands')
    .option('--session <id>', 'session that orders the event')
    .option('--metadata <file>', 'JSON file with metadata for the event', jsonFile)
    .option('--idempotency-key <key>', 'publish at most once for this key, even if repeated')
}

/** A reader that follows gets earlier events only with a time or a cursor. */
async function tail({ client, options }: Invocation<TailOptions>) {
  const { since, after, follow, json } = options
  const start = follow && after === undefined ? Infinity : 0
  const from = since === undefined ? start : Date.parse(since)
  const end = await logEnd(client, after, (each) => {
    if (Date.parse(each.event.createdAt) >= from) show(each, json)
  })
  if (!follow) return
  for await (const each of client.events.follow({ after: end })) show(each, json)
}

/**
 * Reads the log to its end, from its oldest event or from the cursor, because the API has no cursor
 * of the end. Returns that cursor.
 */
export async function logEnd(
  client: Client,
  after?: string,
  onEvent?: (each: LoggedEvent) => void,
) {
  // On a busy server, no page is empty.
  const startedAt = Date.now()
  for (let cursor = after; ;) {
    const page = await client.events.read({ limit: 100, ...given({ after: cursor }) })
    for (const each of page.data) onEvent?.(each)
    cursor = page.nextCursor
    const newest = page.data.at(-1)?.event.createdAt
    if (newest === undefined || Date.parse(newest) >= startedAt) return cursor
  }
}

/** One line for each event, so that programs can read a stream of them. */
function show({ cursor, event }: LoggedEvent, json: true | undefined) {
  const line = json
    ? JSON.stringify({ cursor, event })
    : `${event.createdAt}  ${event.event}  ${JSON.stringify(event.data)}`
  console.log(forStdout(line))
}

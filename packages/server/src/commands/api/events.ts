import type { Client, LoggedEvent, NewEvent } from '@org/agent-messaging-client'
import type { JsonObject } from '@org/agent-messaging-core'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { addApiCommand, type Invocation } from '../command.js'
import { instant, jsonFile } from '../options.js'
import { forStdout } from '../output.js'

type TailOptions = {
  readonly after?: string
  readonly since?: string
  readonly follow: boolean
}

type PublishOptions = Partial<Pick<NewEvent, 'id' | 'metadata'>> & {
  readonly data?: JsonObject
  readonly endUser?: string
  readonly agent?: string
  readonly session?: string
  readonly idempotencyKey?: string
}

export function addEvents(program: Command): void {
  const events = program.command('events').description('publish events, and read their log')
  addPublish(events)
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

function addPublish(events: Command): void {
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
): Promise<string> {
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

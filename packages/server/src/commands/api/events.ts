import type { Client, LoggedEvent } from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { addApiCommand, type Invocation } from '../command.js'
import { instant } from '../options.js'
import { forStdout } from '../output.js'

type TailOptions = {
  readonly after?: string
  readonly since?: string
  readonly follow: boolean
}

export function addEvents(program: Command): void {
  const events = program.command('events').description('read the log of events')
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
  for (let cursor = after; ;) {
    const page = await client.events.read({ limit: 100, ...given({ after: cursor }) })
    for (const each of page.data) onEvent?.(each)
    cursor = page.nextCursor
    if (page.data.length === 0) return cursor
  }
}

/** One line for each event, so that programs can read a stream of them. */
function show({ cursor, event }: LoggedEvent, json: true | undefined) {
  const line = json
    ? JSON.stringify({ cursor, event })
    : `${event.createdAt}  ${event.event}  ${JSON.stringify(event.data)}`
  console.log(forStdout(line))
}

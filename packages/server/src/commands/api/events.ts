import type { LoggedEvent } from '@org/agent-messaging-client'
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

/**
 * Reads the log from its oldest event or from the cursor, because the API has no cursor of the end.
 * A reader that follows gets earlier events only with a time or a cursor.
 */
async function tail({ client, options }: Invocation<TailOptions>) {
  const { since, after, follow, json } = options
  const start = follow && after === undefined ? Infinity : 0
  const from = since === undefined ? start : Date.parse(since)
  let cursor = after
  for (;;) {
    const page = await client.events.read(cursor === undefined ? {} : { after: cursor })
    for (const each of page.data) if (Date.parse(each.event.createdAt) >= from) show(each, json)
    cursor = page.nextCursor
    if (page.data.length === 0) break
  }
  if (!follow) return
  for await (const each of client.events.follow({ after: cursor })) show(each, json)
}

/** One line for each event, so that programs can read a stream of them. */
function show({ cursor, event }: LoggedEvent, json: true | undefined) {
  const line = json
    ? JSON.stringify({ cursor, event })
    : `${event.createdAt}  ${event.event}  ${JSON.stringify(event.data)}`
  console.log(forStdout(line))
}

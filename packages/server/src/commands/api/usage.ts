import type { Counts, Stats, StatsQuery, StatsRow } from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import { COUNT_NAMES, csvRecord, RESPONSE_TIMES_MS } from '@org/agent-messaging-core/host'
import { type Command, Option } from 'commander'
import { addApiCommand, type Invocation } from '../command.js'
import { instant } from '../options.js'
import { table, type Row } from '../output.js'
import { namesOf, type Names } from './names.js'

type By = StatsQuery['by']
type Options = StatsQuery & { readonly csv?: true }

export const addUsage = (program: Command): Command =>
  addApiCommand(program, 'usage', {
    about: 'count messages, deliveries and tokens by day, or by a shorter step',
    examples: [
      'agent-messaging usage',
      'agent-messaging usage --from 2030-01-01 --to 2030-01-31 --json',
      'agent-messaging usage --by webhook --step 5m',
      'agent-messaging usage --by agent --from 2030-01-01 --csv > usage.csv',
    ],
    verb: 'read',
    thing: 'the usage',
    call: ({ client, options: { from, to, step = '1d', by } }: Invocation<Options>) =>
      client.stats.get(given({ from, to, step, by })),
    longText: async (stats, { client, options: { by, csv } }) => {
      const names = by ? await namesOf(client, by) : {}
      return csv ? usageFile(stats, by, names) : usageText(stats, by, names)
    },
  })
    .option(
      '--from <time>',
      'in the first step (default: 30 days, 24 hours or an hour ago)',
      instant,
    )
    .option('--to <time>', 'in the last step (default: now)', instant)
    .addOption(
      new Option('--step <length>', 'length of a step (default: 1d)').choices(['5m', '1h', '1d']),
    )
    .addOption(
      new Option('--by <kind>', 'a row for each agent or webhook').choices(['agent', 'webhook']),
    )
    .addOption(new Option('--csv', 'print a CSV file with all counts').conflicts('json'))

/** The steps as a table, and their sum in the last row. A deleted agent or webhook has its id. */
export function usageText({ rows, total, ...more }: Stats, by: By, names: Names) {
  const isDaily = more.stepMs === DAY_MS
  const shown = (start: string, who: string, counts: Counts, people = '-'): Row => ({
    start,
    ...(by && { [by]: who }),
    ...(by !== 'webhook' && ofMessages(counts)),
    ...(by !== 'agent' && ofDeliveries(counts)),
    ...(isDaily && by !== 'webhook' && { people }),
  })
  const lines = rows.map((row) => {
    const { at, id = '' } = row
    const start = isDaily ? at.slice(0, 10) : `${at.slice(0, 16)}Z`
    return shown(start, names[id] ?? (id || 'hooks of messages'), row, peopleOf(row))
  })
  if (lines.length === 0) return 'Nothing happened.'
  const text = table([...lines, shown('total', '', total)], '')
  const { peopleToday: today } = more
  return today
    ? `${text}\nPeople today so far: ${today.isExact ? '' : 'at least '}${today.count}`
    : text
}

/** The steps as a file, without their sum. */
export function usageFile({ rows }: Stats, by: By, names: Names) {
  const columns = [...COUNT_NAMES, 'p50Ms', 'p95Ms'] as const
  const records = rows.map(({ at, id = '', people, ...counts }) => [
    at,
    ...(by ? [id, names[id] ?? ''] : []),
    ...(by === 'webhook' ? [] : [people ?? '']),
    ...columns.map((name) => counts[name] ?? ''),
  ])
  const who = [...(by ? ['id', by] : []), ...(by === 'webhook' ? [] : ['people'])]
  const titles = ['at', ...who, ...columns]
  return [titles, ...records].map(csvRecord).join('').trimEnd()
}

const DAY_MS = 86_400_000

/** The people of a day are counted when it is over. */
const peopleOf = ({ people }: StatsRow) => (people == null ? '-' : String(people))

const ofMessages = ({ messages, answered, failed, cancelled, ...more }: Counts): Row => ({
  messages: String(messages),
  answered: String(answered),
  failed: String(failed),
  cancelled: String(cancelled),
  p95: answered === 0 ? '-' : upTo(more.p95Ms),
  tokens: String(more.inputTokens + more.outputTokens),
})

const upTo = (ms: number | null) =>
  ms === null ? `over ${Math.max(...RESPONSE_TIMES_MS) / 1_000} s` : `up to ${ms / 1_000} s`

const ofDeliveries = ({ attempts, delivered, exhausted, byClass }: Counts): Row => ({
  attempts: String(attempts),
  refused: String(attempts - byClass['2xx']),
  delivered: String(delivered),
  exhausted: String(exhausted),
})

import type { Failure, Failures } from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { addApiCommand, type Invocation } from '../command.js'
import { since } from '../options.js'
import { table } from '../output.js'

export const addFailures = (program: Command): Command =>
  addApiCommand(program, 'failures', {
    about: 'show which agents and webhooks fail, since when, how often and why',
    examples: ['agent-messaging failures', 'agent-messaging failures --since 08:00 --json'],
    verb: 'read',
    thing: 'the failures',
    call: ({ client, options }: Invocation<{ readonly since?: string }>) =>
      client.failures.get(given({ from: options.since })),
    text: failuresText,
  }).option(
    '--since <time>',
    'within the last 48 hours, also a time of the day (default: 24 hours ago)',
    (text: string) => since(text),
  )

/** A row for each agent and webhook, and the commands that repair what fails. */
export function failuresText({ from, failures }: Failures) {
  const rows = table(failures.map(row), `Nothing failed since ${from}.`)
  const steps = failures.map(nextStep)
  return steps.length === 0 ? rows : `${rows}\n\nAfter the repair:\n${steps.join('\n')}`
}

const row = ({ subject, name, isFailing, since: start, last, ...counts }: Failure) => ({
  failure: `${subject} ${name}`,
  state: isFailing ? 'failing' : 'recovered',
  since: start ?? '-',
  failed: `${counts.failed} of ${counts.ended}`,
  recent: String(counts.recent),
  reasons: counts.reasons.map(({ reason, count }) => `${count} ${reason}`).join(', ') || '-',
  last: last ? `${last.reason} ${last.text}` : '-',
})

const nextStep = ({ subject, id, name }: Failure) =>
  subject === 'agent'
    ? `  agent-messaging messages retry-failed ${name} --wait`
    : `  agent-messaging deliveries recover ${id} --status failed --wait`

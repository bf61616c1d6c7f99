import type { Project, ProjectOverview } from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { projectAmong } from '../../lookup.js'
import { OperatorError } from '../../operator-error.js'
import { firstOf } from '../backend.js'
import { addApiCommand, type Invocation } from '../command.js'
import { wholeNumber } from '../options.js'
import { table } from '../output.js'

type LimitOptions = {
  readonly projectPerMinute?: number
  readonly keyPerMinute?: number
  readonly eventsPerMinute?: number
  readonly burst?: number
}

export function addProjects(program: Command) {
  const projects = program
    .command('projects')
    .description('manage projects, which separate agents, webhooks and API keys')
  addApiCommand(projects, 'create <name>', {
    isOfOperator: true,
    about: 'create a project',
    examples: ['agent-messaging projects create support'],
    thing: 'the project',
    call: async ({ client, options }: Invocation<{ readonly externalId?: string }>, name) => {
      const { externalId } = options
      if (externalId !== undefined) return client.projects.create({ name, externalId })
      const existing = (await firstOf(client.projects.list())).find((one) => one.name === name)
      if (existing)
        throw new OperatorError(
          `project ${JSON.stringify(name)} already exists (id ${existing.id}); choose another name`,
        )
      return client.projects.create({ name })
    },
    text: ({ name, id }) => `Created project ${name} (id ${id}).`,
  }).option(
    '--external-id <id>',
    'your own id of the project, for paths; prints the project that has it already',
  )
  addApiCommand(projects, 'limit <project>', {
    isOfOperator: true,
    about: 'set the limits of a project, by its name or id; without options, remove them',
    examples: ['agent-messaging projects limit support --project-per-minute 600'],
    verb: 'change',
    thing: 'the project',
    call: async ({ client, options }: Invocation<LimitOptions>, project) => {
      const { id } = projectAmong(await firstOf(client.projects.list()), project)
      return client.projects.update(id, { sendLimits: limitsOf(options) })
    },
    text: ({ name }) => `Changed the limits of project ${name}.`,
  })
    .option('--project-per-minute <n>', 'messages of the project per minute', wholeNumber(1))
    .option('--key-per-minute <n>', 'messages of each API key per minute', wholeNumber(1))
    .option('--events-per-minute <n>', 'published events per minute', wholeNumber(1))
    .option(
      '--burst <n>',
      'size of the token buckets (default: the number per minute)',
      wholeNumber(1),
    )
  addApiCommand(projects, 'list', {
    isOfOperator: true,
    about: 'list the projects, oldest first',
    examples: ['agent-messaging projects list --json'],
    thing: 'the projects',
    call: ({ client }) => firstOf(client.projects.list()),
    text: (found) => table(found.map(row), 'No projects.'),
  })
  addApiCommand(projects, 'status', {
    isOfOperator: true,
    about: 'show what waits, fails and was used in each project, the failing ones first',
    examples: ['agent-messaging projects status'],
    verb: 'read',
    thing: 'the projects',
    call: ({ client }) => firstOf(client.projects.overview()),
    text: (found) => table(found.map(overviewRow), 'No projects.'),
  })
}

function limitsOf({ projectPerMinute, keyPerMinute, eventsPerMinute, burst }: LimitOptions) {
  const limit = (messagesPerMinute: number | undefined) =>
    messagesPerMinute === undefined
      ? undefined
      : { messagesPerMinute, burst: burst ?? messagesPerMinute }
  const events =
    eventsPerMinute === undefined ? undefined : { eventsPerMinute, burst: burst ?? eventsPerMinute }
  return given({ project: limit(projectPerMinute), key: limit(keyPerMinute), events })
}

const row = ({ id, name, createdAt }: Project) => ({ id, name, createdAt })

const overviewRow = ({ id, name, usage, ...work }: ProjectOverview) => ({
  name,
  failingWebhooks: String(work.failingWebhooks),
  heldDeliveries: String(work.heldDeliveries),
  openDeliveries: String(work.openDeliveries),
  openMessages: String(work.openMessages),
  'messages in 30 days': String(usage.messages),
  failed: String(usage.failed),
  tokens: String(usage.inputTokens + usage.outputTokens),
  id,
})

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import type { Command } from 'commander'
import { loadAgents, noAgentsFile } from '../agents-file.js'
import { configEnv, configMarkdown } from '../config-docs.js'
import { loadConfig } from '../load-config.js'
import { jsonLogger, plainLogger } from '../logging.js'
import { OperatorError } from '../operator-error.js'
import { exitOnDefect, stopOnSignal } from '../process-end.js'
import { createReceiver } from '../receiver.js'
import { shellWord } from '../terminal.js'
import { agentsOption, example, wholeNumber } from './options.js'
import { secretOf, withSecret, type SecretOptions } from './secret.js'

type ServeOptions = { readonly agents?: string }

export function addServe(program: Command): void {
  program
    .command('dev')
    .description('run a development server that stores its database and keys in data/')
    .addOption(agentsOption())
    .addHelpText(
      'after',
      example('agent-messaging dev', 'agent-messaging dev --agents ./my-agents.mjs'),
    )
    .action(dev)

  program
    .command('start')
    .description('run a production server with the settings from the environment')
    .addOption(agentsOption())
    .option('--no-worker', 'do background work only in calls of /api/cron/webhooks')
    .addHelpText(
      'after',
      example(
        'SERVICE_DATABASE_URL=file:data.db SERVICE_MASTER_KEY=$(cat key) agent-messaging start',
      ),
    )
    .action(start)

  withSecret(
    program.command('listen'),
    "the webhook's secret, for checking signatures (default: $WEBHOOK_SECRET)",
  )
    .description('receive webhooks, check their signatures and print them')
    .option('--port <port>', 'port to listen on', wholeNumber(0, 65_535, 'a port'), 4000)
    .option(
      '--status <code>',
      'status code of the responses',
      wholeNumber(200, 599, 'a final status code'),
      200,
    )
    .addHelpText(
      'after',
      example(
        'agent-messaging listen --secret-file secret.txt',
        'WEBHOOK_SECRET=$(cat secret.txt) agent-messaging listen --port 4001',
      ),
    )
    .action(listen)

  program
    .command('config')
    .description('print all settings with their allowed values and defaults')
    .option('--markdown', 'print a Markdown table (the default)')
    .option('--env', 'print an .env file')
    .addHelpText('after', example('agent-messaging config --env > .env.example'))
    .action(({ env }: { env?: true }) => console.log(env ? configEnv() : configMarkdown()))
}

async function dev(options: ServeOptions): Promise<void> {
  const config = loadConfig()
  const logger = plainLogger(config.logLevel ?? 'warn')
  exitOnDefect(logger)
  const file = options.agents === undefined ? noAgentsFile : await loadAgents(options.agents)
  const { startDev } = await import('../dev.js')
  const { server, text } = await startDev({ config, ...file, logger, command: ownCommand() })
  stopOnSignal(server, config.shutdownGraceMs, logger)
  console.log(text)
}

async function start({
  agents: file,
  worker,
}: ServeOptions & { readonly worker: boolean }): Promise<void> {
  const config = loadConfig()
  const logger = jsonLogger(config.logLevel ?? 'info')
  exitOnDefect(logger)
  if (!worker && config.cronSecret === undefined)
    throw new OperatorError(
      '--no-worker requires CRON_SECRET. Only calls of /api/cron/webhooks do background work',
      2,
    )
  const agents = file === undefined ? noAgentsFile : await loadAgents(file)
  const { startServer } = await import('../start.js')
  const server = await startServer({ config, ...agents, logger, worker })
  stopOnSignal(server, config.shutdownGraceMs, logger)
  logger.info({ url: server.url, metricsUrl: server.metricsUrl, worker }, 'listening')
}

async function listen({
  port: number,
  status: code,
  ...given
}: SecretOptions & { port: number; status: number }): Promise<void> {
  const server = createReceiver({
    secret: secretOf(given),
    status: code,
    print: (lines) => console.log(lines),
  }).listen(number, '127.0.0.1')
  await once(server, 'listening').catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new OperatorError(
      code === 'EADDRINUSE'
        ? `port ${number} is in use; choose another with --port`
        : `cannot listen on port ${number}: ${message}`,
    )
  })
  const { port: bound } = server.address() as AddressInfo
  console.log(`Listening for webhooks on http://127.0.0.1:${bound}/ (press Ctrl-C to stop)\n`)
}

/** The command that runs this program again in this directory. */
function ownCommand(): string {
  const script = process.argv[1] ?? ''
  if (path.basename(script) === 'agent-messaging')
    return script.includes('node_modules') ? 'npx agent-messaging' : 'agent-messaging'
  if (existsSync('node_modules/.bin/agent-messaging')) return 'npx agent-messaging'
  const relative = path.relative('', script)
  return `node ${shellWord(relative.startsWith('..') ? script : relative)}`
}

import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { loadAgents, noAgentsFile } from '../agents-file.js'
import { configEnv, configMarkdown } from '../settings/config-docs.js'
import { loadConfig } from '../settings/load-config.js'
import { jsonLogger, plainLogger, type Logger } from '../telemetry/logging.js'
import { OperatorError } from '../operator-error.js'
import { ownCommand } from '../own-command.js'
import { addCommand } from './command.js'
import { agentsOption, portOption } from './options.js'
import type { RunningServer } from '../server.js'

type ServeOptions = { readonly agents?: string; readonly port?: string }

export function addServe(program: Command) {
  addCommand(
    program,
    'dev',
    'run a development server that stores its database and keys in data/',
    ['agent-messaging dev', 'agent-messaging dev --port 4000 --agents ./my-agents.mjs'],
  )
    .addOption(portOption())
    .addOption(agentsOption())
    .action(dev)

  addCommand(program, 'start', 'run a production server with the settings from the environment', [
    'SERVICE_DATABASE_URL=file:data.db SERVICE_MASTER_KEY=$(cat key) agent-messaging start',
  ])
    .addOption(portOption())
    .addOption(agentsOption())
    .option('--no-worker', 'do background work only in calls of /api/cron/webhooks')
    .action(start)

  addCommand(program, 'config', 'print all settings with their allowed values and defaults', [
    'agent-messaging config --env > .env.example',
  ])
    .option('--markdown', 'print a Markdown table (the default)')
    .option('--env', 'print an .env file')
    .action(({ env }: { env?: true }) => console.log(env ? configEnv() : configMarkdown()))
}

async function dev(options: ServeOptions) {
  const config = loadConfig({ PORT: options.port })
  const logger = plainLogger(config.logLevel ?? 'warn')
  exitOnDefect(logger)
  const file = options.agents === undefined ? noAgentsFile : await loadAgents(options.agents)
  const { startDev } = await import('../dev.js')
  const command = ownCommand(process.argv[1] ?? '', existsSync('node_modules/.bin/agent-messaging'))
  const { server, text } = await startDev({ config, ...file, logger, command })
  stopOnSignal(server, config.shutdownGraceMs, logger)
  console.log(text)
}

async function start({ agents: file, port, worker }: ServeOptions & { readonly worker: boolean }) {
  const config = loadConfig({ PORT: port })
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

/** Under npm, one Ctrl-C sends two signals. Signals within this time count as one. */
const SAME_SIGNAL_MS = 500

/** Stops the server on SIGTERM, SIGINT or SIGHUP and exits with 0. A second signal exits with 1. */
function stopOnSignal(server: RunningServer, graceMs: number, logger: Logger) {
  let stoppingSince: number | undefined
  const stop = (signal: string) => {
    if (stoppingSince !== undefined)
      return Date.now() - stoppingSince > SAME_SIGNAL_MS ? process.exit(1) : undefined
    stoppingSince = Date.now()
    const { runs } = server.service.host.load()
    logger.info({ signal, graceMs, runs }, 'stopping')
    // A warning, because `dev` does not log lower levels.
    if (runs > 0) {
      const until = new Date(stoppingSince + graceMs).toISOString()
      logger.warn(
        { runs, until },
        'waiting for runs to finish; a second Ctrl-C (SIGINT or SIGTERM) exits at once',
      )
    }
    server.stop({ graceMs }).then(
      () => {
        logger.info({ tookMs: Date.now() - (stoppingSince ?? 0) }, 'stopped')
        process.exit(0)
      },
      (error: unknown) => exitOn(logger)(error),
    )
  }
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)
}

/** Exits on an unexpected error. Another process repeats the unfinished work after its leases. */
function exitOnDefect(logger: Logger) {
  process.on('uncaughtException', exitOn(logger)).on('unhandledRejection', exitOn(logger))
}

const exitOn = (logger: Logger) => (error: unknown) => {
  logger.error({ err: error }, 'exiting because of an unhandled error')
  process.exit(1)
}

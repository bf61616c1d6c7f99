import {
  allPages,
  DEFAULT_PROJECT,
  ensureAgents,
  requireAgentNames,
  type AgentFunctions as Agents,
  type Programs,
} from '@org/agent-messaging-node/wiring'
import type { Config } from './settings/config.js'
import { devAddresses, devFiles, readOrCreateDevSettings } from './settings/dev-files.js'
import { logProgram, type Logger } from './telemetry/logging.js'
import { projectNamed } from './lookup.js'
import { otlpExports } from './settings/otlp-setting.js'
import { createServer, type RunningServer } from './server.js'
import { shownDatabase } from './urls.js'
import { welcome, type Welcome } from './welcome.js'

export type DevOptions = {
  readonly config: Config
  readonly agents?: Agents | undefined
  readonly programs?: Programs | undefined
  readonly logger?: Logger | undefined
  /** The command that runs this program, such as `npx agent-messaging`. */
  readonly command: string
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

/** Starts a development server, and returns the text that shows the first steps. */
export async function startDev({
  config,
  agents,
  programs,
  logger,
  command,
}: DevOptions): Promise<{ server: RunningServer; text: string }> {
  const names = Object.keys(agents ?? {})
  requireAgentNames(names)
  const settings = readOrCreateDevSettings(config)
  const server = await createServer({
    ...config,
    ...settings,
    agents,
    programs,
    logger,
    bootstrapApiKey: settings.apiKey,
    overrideGlobalObjects: true,
    ...otlpExports(process.env),
    addresses: devAddresses(config),
    // `dev` logs only warnings by default, so the output of programs is logged as warnings.
    ...(logger && { programLog: logProgram(logger, 'warn') }),
    console: config.console === 'off' ? 'off' : 'dev',
    openMetrics: LOOPBACK.includes(config.host),
    publicUrl: config.publicUrl ?? ((ownUrl) => ownUrl),
  })
  try {
    const text = welcome({
      ...settings,
      url: server.url,
      signInUrl: server.signInUrl(settings.apiKey),
      database: shownDatabase(settings.databasePath),
      apiKeyFile: config.bootstrapApiKey === undefined ? devFiles.apiKey : undefined,
      agents: await agentsOf(server, names),
      command,
    })
    return { server, text }
  } catch (error) {
    await server.stop({ graceMs: 0 })
    throw error
  }
}

/** Declares `echo` and the agents of the file. */
async function agentsOf(
  { service }: RunningServer,
  names: readonly string[],
): Promise<Welcome['agents']> {
  const { id: projectId } = await projectNamed(service, DEFAULT_PROJECT)
  const declared = ['echo', ...names.filter((name) => name !== 'echo')]
  const settings = declared.map((name) => ({ name, runtime: { kind: 'function', handler: name } }))
  await ensureAgents(service, projectId, settings)
  const agents = await allPages(
    (page) => service.agents.list(projectId, page),
    'cannot list the agents',
  )
  return agents.map(({ name, state }) => ({
    name,
    state: state.kind,
    ...(state.kind === 'error' && { error: state.lastError.message }),
  }))
}

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
import { shellWord } from './terminal.js'

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
    (page) => service.agents.list({ projectId, ...page }),
    'cannot list the agents',
  )
  return agents.map(({ name, state }) => ({
    name,
    state: state.kind,
    ...(state.kind === 'error' && { error: state.lastError.message }),
  }))
}

type Welcome = {
  readonly url: string
  /** Signs in to the console once. Undefined when the console is off. */
  readonly signInUrl: string | undefined
  /** Without its password. */
  readonly database: string
  readonly apiKey: string
  /** Undefined when the key comes from the environment. */
  readonly apiKeyFile: string | undefined
  /** The agents of the project `default`. */
  readonly agents: readonly {
    readonly name: string
    readonly state: string
    readonly error?: string
  }[]
  /** The command that runs this program. */
  readonly command: string
}

/** The server that a command in another terminal finds without options. */
const DEFAULT_URL = 'http://127.0.0.1:3000'

/** The text that `dev` prints at every start. Its command works as printed. */
function welcome(w: Welcome) {
  return `Agent Messaging is running. Press Ctrl-C to stop it.

  API       ${w.url}/v1 (reference: ${w.url}/docs)
  API key   ${w.apiKey}${w.apiKeyFile === undefined ? '' : ` (stored in ${w.apiKeyFile})`}
  Database  ${w.database}
  Agents    ${w.agents.map(shownAgent).join(', ') || 'none'}

${signIn(w)}See a verified webhook (in a second terminal, in this folder):
  ${tryCommand(w)}`
}

const signIn = ({ signInUrl }: Welcome) =>
  signInUrl === undefined
    ? ''
    : `Open the console (the link signs you in once, within 15 minutes):\n  ${signInUrl}\n`

const shownAgent = ({ name, state, error }: Welcome['agents'][number]) =>
  `${name} (${state}${error === undefined ? '' : `: ${error}`})`

const tryCommand = ({ command, url, apiKey, apiKeyFile }: Welcome) =>
  [
    `${command} listen --try`,
    ...(url === DEFAULT_URL ? [] : [`--url ${url}`]),
    ...(apiKeyFile === undefined ? [`--api-key ${shellWord(apiKey)}`] : []),
  ].join(' ')

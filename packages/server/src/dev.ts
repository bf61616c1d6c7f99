import { err, ok } from 'neverthrow'
import type { Agents, Programs } from './agents-file.js'
import { DEFAULT_PROJECT } from './bootstrap.js'
import type { Config } from './config.js'
import { devAddresses, devFiles, readOrCreateDevSettings } from './dev-files.js'
import { logProgram, type Logger } from './logging.js'
import { allPages, projectNamed } from './lookup.js'
import { orFail } from './operator-error.js'
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
  const settings = readOrCreateDevSettings(config)
  const server = await createServer({
    ...config,
    ...settings,
    agents,
    programs,
    logger,
    bootstrapApiKey: settings.apiKey,
    overrideGlobalObjects: true,
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
      agents: await agentsOf(server),
      command,
    })
    return { server, text }
  } catch (error) {
    await server.stop({ graceMs: 0 })
    throw error
  }
}

const ECHO_SETTING = 'dev-echo'

async function agentsOf({ service, storage }: RunningServer): Promise<Welcome['agents']> {
  const { id: projectId } = await projectNamed(service, DEFAULT_PROJECT)
  await ensureEcho({ service, storage }, projectId)
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

/** Creates the agent `echo` once per database. A stopped or deleted `echo` stays so. */
async function ensureEcho(
  { service, storage }: Pick<RunningServer, 'service' | 'storage'>,
  projectId: string,
): Promise<void> {
  const failure = 'cannot create the agent "echo"'
  if ((await orFail(storage.credentials.readSetting(ECHO_SETTING), failure)) !== undefined) return
  const created = service.agents
    .create({
      projectId,
      name: 'echo',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    })
    .map(() => undefined)
    .orElse((error) => (error.kind === 'name_taken' ? ok(undefined) : err(error)))
  await orFail(created, failure)
  await orFail(storage.credentials.initSetting(ECHO_SETTING, 'made'), failure)
}

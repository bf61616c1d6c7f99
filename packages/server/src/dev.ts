import { nodeCrypto } from '@org/agent-messaging-core/node'
import { err, ok } from 'neverthrow'
import type { Agents, Programs } from './agents-file.js'
import { allPages } from './all-pages.js'
import { DEFAULT_PROJECT } from './bootstrap.js'
import type { Config } from './config.js'
import { shownDatabase } from './database-url.js'
import { devAddresses, devFiles, keptOrMade, type Kept } from './dev-files.js'
import { projectNamed } from './find.js'
import { logProgram, type Logger } from './logging.js'
import { orFail } from './operator-error.js'
import { createServer, type RunningServer } from './server.js'
import { welcome, type Welcome } from './welcome.js'

export type DevOptions = {
  readonly config: Config
  readonly agents?: Agents | undefined
  readonly programs?: Programs | undefined
  readonly logger?: Logger | undefined
  /** How this program is called: `agent-messaging`, or `node …/cli.js`. */
  readonly command: string
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

/** A server to try things out with, and the text that shows how. The second start finds everything as the first one left it. */
export async function startDev({
  config,
  agents,
  programs,
  logger,
  command,
}: DevOptions): Promise<{ server: RunningServer; text: string }> {
  const kept = keptOrMade(config)
  const server = await createServer({
    ...{ ...config, ...kept, agents, programs, logger },
    bootstrapApiKey: kept.apiKey,
    overrideGlobalObjects: true,
    addresses: devAddresses(config),
    // Who tries out a program wants to see what it says; by default `dev` logs warnings alone.
    ...(logger && { programLog: logProgram(logger, 'warn') }),
    console: config.console === 'off' ? 'off' : 'dev',
    openMetrics: LOOPBACK.includes(config.host),
    publicUrl: config.publicUrl ?? ((ownUrl) => ownUrl),
  })
  try {
    const seen = {
      url: server.url,
      signInUrl: server.signInUrl(kept.apiKey),
      command,
      agents: await agentsOf(server),
    }
    return { server, text: textFor(config, kept, seen) }
  } catch (error) {
    await server.stop({ graceMs: 0 })
    throw error
  }
}

type Seen = Pick<Welcome, 'url' | 'signInUrl' | 'command' | 'agents'>

function textFor(config: Config, { databasePath, apiKey, masterKey }: Kept, seen: Seen): string {
  const apiKeyFile = config.bootstrapApiKey === undefined ? devFiles.apiKey : undefined
  return welcome({
    ...seen,
    database: shownDatabase(databasePath),
    apiKey,
    apiKeyFile,
    webhookSecret: exampleSecret(masterKey),
  })
}

const ECHO_SETTING = 'dev-echo'

async function agentsOf({ service, storage }: RunningServer): Promise<Welcome['agents']> {
  const { id: projectId } = await projectNamed(service, DEFAULT_PROJECT)
  await ensureEcho({ service, storage }, projectId)
  const agents = await allPages(
    (page) => service.agents.list(projectId, page),
    'the agents cannot be listed',
  )
  return agents.map(({ name, state }) => ({
    name,
    state: state.kind,
    ...(state.kind === 'error' && { why: state.lastError.message }),
  }))
}

/** The agent `echo`, once in the life of a database: one that was stopped or deleted stays so. */
async function ensureEcho(
  { service, storage }: Pick<RunningServer, 'service' | 'storage'>,
  projectId: string,
): Promise<void> {
  const what = 'the agent "echo" cannot be made'
  if ((await orFail(storage.credentials.readSetting(ECHO_SETTING), what)) !== undefined) return
  const made = service.agents
    .create({
      projectId,
      name: 'echo',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    })
    .map(() => undefined)
    .orElse((error) => (error.kind === 'name_taken' ? ok(undefined) : err(error)))
  await orFail(made, what)
  await orFail(storage.credentials.initSetting(ECHO_SETTING, 'made'), what)
}

/** The same at every start, so that a receiver from before still verifies; and nobody else's. */
const exampleSecret = (masterKey: Uint8Array): string =>
  `whsec_${Buffer.from(nodeCrypto(masterKey).mac('example webhook secret', 'v1'), 'base64url').toString('base64')}`

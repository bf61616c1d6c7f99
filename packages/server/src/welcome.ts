import { quoted } from './terminal.js'

export type Welcome = {
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
  readonly webhookSecret: string
  readonly webhookSecretFile: string | undefined
  /** The command that runs this program. */
  readonly command: string
}

const RECEIVER = 'http://127.0.0.1:4000/'

/** The text that `dev` prints at every start. Its commands work as printed. */
export function welcome(w: Welcome): string {
  const { url, webhookSecret: secret, webhookSecretFile: file } = w
  return `Agent Messaging is running. Press Ctrl-C to stop it.

  ${w.signInUrl === undefined ? '' : `Console   ${url}/console\n  `}API       ${url}/v1
  Reference ${url}/docs (OpenAPI: ${url}/openapi.json)
  Health    ${url}/healthz
  Database  ${w.database}
  API key   ${w.apiKey}${w.apiKeyFile === undefined ? '' : ` (stored in ${w.apiKeyFile})`}
  Agents    ${w.agents.map(shownAgent).join(', ') || 'none'}

1. In a second terminal, start a receiver that checks signatures and prints each delivery:

${w.command} listen ${file === undefined ? `--secret ${secret}` : `--secret-file ${file}`}

2. In a third terminal, register the receiver as a webhook:

${post(w, '/v1/webhooks', { url: RECEIVER, events: ['*'], secret })}
${startEcho(w)}
3. Send a message. The response contains the answer:

${post(w, '/v1/agents/echo/messages', { sessionId: 'first', message: 'Hello' })}

4. Look at the delivery to your webhook:

curl ${quoted(`${url}/v1/deliveries?limit=1`)} \\
  -H ${quoted(`Authorization: Bearer ${w.apiKey}`)}
${signIn(w)}`
}

const shownAgent = ({ name, state, error }: Welcome['agents'][number]): string =>
  `${name} (${state}${error === undefined ? '' : `: ${error}`})`

const signIn = ({ signInUrl }: Welcome): string =>
  signInUrl === undefined
    ? ''
    : `\n5. Open the console. This link signs you in once, within 15 minutes:\n\n${signInUrl}\n`

/** The command that starts or creates `echo`, if a person has stopped or deleted it. */
function startEcho(w: Welcome): string {
  const echo = w.agents.find(({ name }) => name === 'echo')
  if (echo?.state === 'stopped')
    return `\nStart the agent echo, which is stopped:\n\n${post(w, '/v1/agents/echo/start', {})}\n`
  const agent = {
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  return echo === undefined
    ? `\nCreate the agent echo, which was deleted:\n\n${post(w, '/v1/agents', agent)}\n`
    : ''
}

const post = ({ url, apiKey }: Welcome, path: string, body: object): string =>
  [
    `curl ${url}${path}`,
    `-H ${quoted(`Authorization: Bearer ${apiKey}`)}`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n  ')

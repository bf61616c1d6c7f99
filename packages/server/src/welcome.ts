import { quoted } from './shell-word.js'

export type Welcome = {
  readonly url: string
  /** Of the console; undefined when it is off. */
  readonly signInUrl: string | undefined
  /** Without a password. */
  readonly database: string
  readonly apiKey: string
  /** Undefined when the environment gave the key. */
  readonly apiKeyFile: string | undefined
  /** Of the project `default`, by name. */
  readonly agents: readonly {
    readonly name: string
    readonly state: string
    readonly why?: string
  }[]
  readonly webhookSecret: string
  /** How this program is called. */
  readonly command: string
}

const RECEIVER = 'http://127.0.0.1:4000/'

/** What `dev` prints at every start. Each command can be pasted as it is. */
export function welcome(w: Welcome): string {
  const { url, webhookSecret: secret } = w
  return `Agent Messaging is running. Ctrl-C stops it.

  ${signInLine(w)}API       ${url}/v1
  Reference ${url}/docs (OpenAPI: ${url}/openapi.json)
  Health    ${url}/healthz
  Database  ${w.database}
  API key   ${w.apiKey}${w.apiKeyFile === undefined ? '' : ` (kept in ${w.apiKeyFile})`}
  Agents    ${w.agents.map(shownAgent).join(', ') || 'none'}

In a second terminal, start a receiver that checks signatures and prints what it gets:

${w.command} listen --secret ${secret}

In a third one, register it as a webhook:

${post(w, '/v1/webhooks', { url: RECEIVER, events: ['*'], secret })}
${startEcho(w)}
Send a message, and get the answer:

${post(w, '/v1/agents/echo/messages', { sessionId: 'first', message: 'Hello' })}

See the delivery of its webhook:

curl ${quoted(`${url}/v1/deliveries?limit=1`)} \\
  -H ${quoted(`Authorization: Bearer ${w.apiKey}`)}
`
}

const shownAgent = ({ name, state, why }: Welcome['agents'][number]): string =>
  `${name} (${state}${why === undefined ? '' : `: ${why}`})`

/** The link signs in once; the console itself is at `/console`. */
const signInLine = ({ url, signInUrl }: Welcome): string =>
  signInUrl === undefined
    ? ''
    : `Console   ${url}/console\n  Sign in   ${signInUrl} (once, within 15 minutes)\n  `

/** Only for who has stopped or deleted it. */
function startEcho(w: Welcome): string {
  const echo = w.agents.find(({ name }) => name === 'echo')
  if (echo?.state === 'stopped')
    return `\nStart the agent again:\n\n${post(w, '/v1/agents/echo/start', {})}\n`
  const agent = {
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  return echo === undefined ? `\nMake the agent again:\n\n${post(w, '/v1/agents', agent)}\n` : ''
}

const post = ({ url, apiKey }: Welcome, path: string, body: object): string =>
  [
    `curl ${url}${path}`,
    `-H ${quoted(`Authorization: Bearer ${apiKey}`)}`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n  ')

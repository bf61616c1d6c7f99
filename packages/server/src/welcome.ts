import { shellWord } from './terminal.js'

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
  /** The command that runs this program. */
  readonly command: string
}

/** The server that a command in another terminal finds without options. */
const DEFAULT_URL = 'http://127.0.0.1:3000'

/** The text that `dev` prints at every start. Its command works as printed. */
export function welcome(w: Welcome): string {
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

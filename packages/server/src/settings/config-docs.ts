import { environment, variables } from './environment.js'

const rows = () =>
  Object.entries(environment.shape).map(([name, schema]) => {
    const { about = '', allowed = '', option } = variables.get(schema) ?? {}
    const override = option ? ` The option \`${option}\` overrides it.` : ''
    const byDefault = 'defaultValue' in schema.def ? schema.def.defaultValue : undefined
    return { name, about: about + override, allowed, byDefault }
  })

/** The settings as a Markdown table. */
export function configMarkdown(): string {
  const lines = rows().map(
    ({ name, about, allowed, byDefault }) =>
      `| \`${name}\` | ${about} | ${allowed} | ${byDefault === undefined ? '' : `\`${byDefault}\``} |`,
  )
  return ['| Variable | Description | Value | Default |', '|---|---|---|---|', ...lines].join('\n')
}

/** The settings as an `.env` file in which every line is a comment. */
export function configEnv(): string {
  const entries = rows().map(
    ({ name, about, allowed, byDefault = '' }) =>
      `${commented(about)}\n${commented(`Value: ${allowed}`)}\n# ${name}=${byDefault}\n`,
  )
  return [
    '# Copy this file to .env, which the server reads at startup.\n# Environment variables override its lines.\n',
    ...entries,
  ].join('\n')
}

/** The text as comment lines of at most 100 columns. */
function commented(text: string) {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < 100) lines.push(`${lines.pop()} ${word}`)
    else lines.push(`# ${word}`)
  }
  return lines.join('\n')
}

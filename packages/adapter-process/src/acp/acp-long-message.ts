type Fields = {
  readonly id?: string | number
  readonly method?: string
  readonly sessionId?: string
}

/** The fields are near the start of every message, before its content. */
const MAX_LENGTH = 64 * 1024
const TOKEN = /[\s,]*(?:("(?:[^"\\]|\\.)*")(\s*:)?|([{}[\]])|([^\s,{}[\]":]+))/y

/**
 * Returns the fields that tell whose message this is: `id`, `method` and `params.sessionId`. Reads
 * only the start of the message, because the message is too long to keep. Fields inside of the
 * content do not count.
 */
export function fieldsOf(start: string): Fields {
  const fields: Record<string, unknown> = {}
  /** The key of the current value at each depth. */
  const path: string[] = []
  let depth = 0
  for (const [, text, colon, bracket, literal] of tokensOf(start.slice(0, MAX_LENGTH))) {
    if (bracket !== undefined) {
      depth += bracket === '{' || bracket === '[' ? 1 : -1
    } else if (colon !== undefined) {
      path.length = depth
      path[depth] = String(valueOf(text))
    } else if (depth === path.length - 1) {
      fields[path.slice(1).join('.')] ??= valueOf(text ?? literal)
    }
  }
  const { id, method, 'params.sessionId': sessionId } = fields
  return {
    ...((typeof id === 'string' || typeof id === 'number') && { id }),
    ...(typeof method === 'string' && { method }),
    ...(typeof sessionId === 'string' && { sessionId }),
  }
}

function* tokensOf(json: string): Generator<RegExpExecArray> {
  const token = new RegExp(TOKEN)
  for (let found = token.exec(json); found; found = token.exec(json)) yield found
}

/** Returns undefined if the token is not valid JSON. */
function valueOf(token = ''): unknown {
  try {
    return JSON.parse(token)
  } catch {
    return undefined
  }
}

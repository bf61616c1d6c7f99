import { statSync } from 'node:fs'
import type { Unavailable } from '@org/agent-messaging-core/storage'
import { unavailable } from '../database/errors.js'
import { trueName } from '../database/liveness.js'

/**
 * Tells whether the path of an open file still names that file. SQLite does not notice that a file
 * was deleted, renamed or replaced: it writes on to a file that nothing can find.
 */
export class FileWatch {
  readonly #files: readonly string[]
  readonly #onLost: (sentence: string) => void
  /** The identity of the file and of its log. The log is known from its first sight on. */
  readonly #known = new Map<string, string>()
  #isLost = false

  /** `onLost` is called whenever the file is lost, with a sentence for the operator. */
  constructor(path: string, onLost: (sentence: string) => void) {
    // SQLite resolves symbolic links before it names the log.
    this.#files = [path, `${trueName(path)}-wal`]
    this.#onLost = onLost
    this.check()
  }

  /** Returns the problem, or undefined while both files are in place. */
  readonly check = (): Unavailable | undefined => {
    const lost = this.#files.find((file) => this.#isMissing(file))
    if (lost === undefined) {
      this.#isLost = false
      return undefined
    }
    const problem = unavailable(lostSentence(lost))
    if (!this.#isLost) this.#onLost(problem.reason)
    this.#isLost = true
    return problem
  }

  #isMissing(file: string): boolean {
    const found = statSync(file, { throwIfNoEntry: false })
    const identity = found && `${found.dev} ${found.ino}`
    const known = this.#known.get(file)
    if (known === undefined && identity !== undefined) this.#known.set(file, identity)
    return known !== undefined && known !== identity
  }
}

const lostSentence = (file: string): string =>
  `${file} was deleted, renamed or replaced while this process had it open, so nothing more is ` +
  'written. Move the original file back to continue. If it was deleted, copy it and its -wal ' +
  `file from /proc/${process.pid}/fd (Linux) before you stop this process, or restore a backup.`

// Installs the lockfile and the database driver of this Node. Does not build.
import { installDependencies } from './ready.mjs'

await installDependencies()

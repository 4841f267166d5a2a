"""What `mtpchat doctor` looks at: the machine, the build, the settings and model files; findings, with evidence."""

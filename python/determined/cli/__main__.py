from determined.cli import main

main()
